"""PromQL out of metrics of the catalogue, for panels that can be narrowed down by queue and instance."""

from __future__ import annotations

from collections.abc import Sequence

from memsift_schemas.metrics.metric import Metric

# Grafana's own variable: long enough for the scrape interval, whatever is shown.
# https://grafana.com/docs/grafana/latest/datasources/prometheus/template-variables/#use-__rate_interval
WINDOW = "$__rate_interval"


def selected(metric: Metric, suffix: str = "", **matchers: str) -> str:
    """A selector; `queue` is matched where the metric has it.

    Args:
        metric: the metric.
        suffix: `_bucket`, `_sum` or `_count` of a histogram.
        **matchers: PromQL with the operator, such as `fate='="dead"'`.

    Raises:
        ValueError: the metric has no such label.
    """
    if unknown := set(matchers) - set(metric.labels):
        raise ValueError(f"{metric.name} has no label {', '.join(sorted(unknown))}")
    scope = {"instance": '=~"$instance"'}
    if "queue" in metric.labels:
        scope["queue"] = '=~"$queue"'
    told = ", ".join(f"{label}{match}" for label, match in {**scope, **matchers}.items())
    return f"{metric.name}{suffix}{{{told}}}"


def per_second(metric: Metric, by: Sequence[str] = (), suffix: str = "", **matchers: str) -> str:
    """How fast a counter grows, summed over all processes, one line for each value of `by`."""
    return f"sum{_by(by)} (rate({selected(metric, suffix, **matchers)}[{WINDOW}]))"


def total(metric: Metric, by: Sequence[str] = ()) -> str:
    """A gauge, summed over all processes."""
    return f"sum{_by(by)} ({selected(metric)})"


def highest(metric: Metric, by: Sequence[str] = ()) -> str:
    """A gauge that all processes see alike, or of which the worst counts."""
    return f"max{_by(by)} ({selected(metric)})"


def quantile(share: float, metric: Metric, by: Sequence[str] = ()) -> str:
    """A quantile of a histogram, estimated from its buckets."""
    return f"histogram_quantile({share:g}, {per_second(metric, ('le', *by), '_bucket')})"


def mean(metric: Metric) -> str:
    """A histogram's mean."""
    return f"{per_second(metric, suffix='_sum')} / {per_second(metric, suffix='_count')}"


def ratio(part: str, whole: str) -> str:
    """A share; 0 where the part has no series yet."""
    return f"({part} or vector(0)) / {whole}"


def _by(labels: Sequence[str]) -> str:
    return f" by ({', '.join(labels)})" if labels else ""
