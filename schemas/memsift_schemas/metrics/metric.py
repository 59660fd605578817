"""What is fixed about a metric before anything is counted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Kind(StrEnum):
    """Prometheus's types of metrics that are used here."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """One metric.

    Attributes:
        name: as it is scraped; https://prometheus.io/docs/practices/naming/ holds.
        kind: its type.
        help: what it counts, for who reads `/metrics` or docs/metrics.md.
        labels: names of its labels. Their values come from small fixed sets, settings or names of runtimes:
            never from what a caller wrote.
        buckets: upper bounds of a histogram's buckets, without infinity.
        together: gauges: what several processes that share a directory show as one value; the sum, the
            highest, or what was set last.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    together: Literal["livesum", "livemax", "livemostrecent"] = "livemax"


def counter(name: str, about: str, *labels: str) -> Metric:
    """A number that only grows; `name` ends in `_total`."""
    return Metric(name, Kind.COUNTER, about, labels)


def gauge(
    name: str,
    about: str,
    *labels: str,
    together: Literal["livesum", "livemax", "livemostrecent"] = "livemax",
) -> Metric:
    """A number that rises and falls."""
    return Metric(name, Kind.GAUGE, about, labels, together=together)


def histogram(name: str, about: str, *labels: str, buckets: tuple[float, ...]) -> Metric:
    """How values are distributed."""
    return Metric(name, Kind.HISTOGRAM, about, labels, buckets)
