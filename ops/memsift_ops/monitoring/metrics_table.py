"""The metrics as a page of the docs; `python -m memsift_ops.monitoring.metrics_table > docs/metrics.md`."""

from __future__ import annotations

from memsift_schemas.metrics.catalogue import SECTIONS
from memsift_schemas.metrics.metric import Metric

HEAD = """# Metrics

A worker serves them where `MEMSIFT_METRICS_PORT` is set, a gateway where `MEMSIFT_GATEWAY_METRICS_PORT` is,
each at `/metrics` on a port of its own; a frontend as [frontend.md](frontend.md) shows.
[operating.md](operating.md) says how to scrape them and who may read them, [runbook.md](runbook.md) what each
alert wants. No label ever holds a user, a session, a job or a text. This page is generated from the code by
`make docs`."""


def page() -> str:
    """The page in Markdown: one table per section."""
    parts = [HEAD]
    for title, metrics in SECTIONS:
        head = [f"## {title}\n", "| metric | type | labels | what it is |", "|---|---|---|---|"]
        parts.append("\n".join([*head, *map(_row, metrics)]))
    return "\n\n".join(parts) + "\n"


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    buckets = f" Buckets: {', '.join(f'{bound:g}' for bound in metric.buckets)}." if metric.buckets else ""
    return f"| `{metric.name}` | {metric.kind.value} | {labels} | {metric.help}{buckets} |"


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201  # this module's whole purpose
