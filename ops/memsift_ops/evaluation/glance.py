"""The one table that decides: a row for each set and ranker, shared by terminal and HTML."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from memsift_ops.evaluation.outcome import PREFILTER

COLUMNS = (
    "MRR",
    "hit@3",
    "P@1",
    "P@3",
    "R@5",
    "nDCG@10",
    "p50 ms",
    "p95 ms",
    "$ a month",
    "leaves network",
    "needs",
)
IN_TERMINAL = ("MRR", "hit@3", "P@1", "P@3", "p50 ms", "p95 ms", "$ a month", "leaves network")
TEXTS = ("leaves network", "needs")
SHOWN = ("mrr", "hit_at_3", "p_at_1", "p_at_3", "recall_at_5", "ndcg_at_10")
# What "a month" means: the volume that a ranker is chosen for.
CALLS_A_MONTH = 30_000_000
UNKNOWN = "-"


@dataclass(frozen=True, slots=True)
class Row:
    """One ranker on one set.

    Attributes:
        ranker: its name.
        cells: a text for each of `COLUMNS`.
        verdict: 1 when its MRR is above the prefilter's beyond noise, -1 when it is below, 0 else.
    """

    ranker: str
    cells: tuple[str, ...]
    verdict: int


def rows(rankers: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """The rows of one set."""
    return [Row(name, _cells(found), verdict(found)) for name, found in rankers.items()]


def means(sets: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[Row]:
    """Every ranker over all sets, each set counting the same; latency is the mean of the percentiles."""
    names = next(iter(sets.values()))
    return [Row(name, _cells(_mean([found[name] for found in sets.values()])), 0) for name in names]


def verdict(found: Mapping[str, Any]) -> int:
    """Whether the MRR differs from the prefilter's beyond its 95% interval: 1 better, -1 worse, 0 neither."""
    against = found["against_prefilter"]
    if against is None:
        return 0
    low, high = against["mrr"]["ci95"]
    return int(low > 0) - int(high < 0)


def terminal(sets: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Table:
    """For people, 80 columns wide: ▲ and ▼ tell an MRR that differs from the prefilter's beyond noise."""
    table = Table(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("ranker", overflow="fold", min_width=13)
    for name in IN_TERMINAL:
        table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True)
    groups = {name: rows(found) for name, found in sets.items()}
    if len(sets) > 1:
        groups[f"mean of {len(sets)} sets"] = means(sets)
    marks = {1: " ▲", -1: " ▼", 0: "  "}
    for name, group in groups.items():
        table.add_row(escape(name), style="bold")
        for row in group:
            cells = dict(zip(COLUMNS, row.cells, strict=True))
            cells["MRR"] += marks[row.verdict]
            style = "dim" if row.ranker == PREFILTER else ""
            table.add_row(f"  {escape(row.ranker)}", *(cells[name] for name in IN_TERMINAL), style=style)
        table.add_section()
    return table


def number(value: float | None, digits: int = 3) -> str:
    """A number for people, or a dash for none."""
    return UNKNOWN if value is None else f"{value:,.{digits}f}"


def milliseconds(value: float | None) -> str:
    """With one digit below ten, so that a fast ranker is not 0."""
    return number(value, 1 if value is not None and value < 10 else 0)  # noqa: PLR2004


def dollars(cost_per_million: float | None) -> str:
    """US dollars a month at a million calls a day."""
    return number(None if cost_per_million is None else cost_per_million * CALLS_A_MONTH / 1e6, 0)


def yes_no(value: bool | None) -> str:
    """Also tells that it is not known."""
    return {True: "yes", False: "no", None: "unknown"}[value]


def _cells(found: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        *(number(found[metric]) for metric in SHOWN),
        *(milliseconds(found["latency_ms"][name]) for name in ("p50", "p95")),
        dollars(found["cost_per_million"]),
        yes_no(found["leaves_network"]),
        found["needs"],
    )


def _mean(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    def mean(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return statistics.fmean(known) if len(known) == len(values) else None

    return {
        **{metric: mean([one[metric] for one in found]) for metric in SHOWN},
        "latency_ms": {at: mean([one["latency_ms"][at] for one in found]) for at in ("p50", "p95")},
        "cost_per_million": mean([one["cost_per_million"] for one in found]),
        "leaves_network": found[0]["leaves_network"],
        "needs": found[0]["needs"],
    }
