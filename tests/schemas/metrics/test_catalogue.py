"""The list of metrics follows Prometheus's conventions, and no label can tell of a person."""

import itertools
import re

import pytest

from memsift_schemas.metrics import catalogue
from memsift_schemas.metrics.metric import Kind, Metric, counter, gauge, histogram

# https://prometheus.io/docs/practices/naming/ and https://prometheus.io/docs/instrumenting/writing_clientlibs/
UNITS = ("_seconds", "_bytes", "_ratio", "_jobs", "_calls")
RESERVED = {"le", "quantile", "job", "instance", "pid"}
# What may never be a label, since it grows without end or says who somebody is.
PRIVATE = {"user", "session", "id", "job_id", "request_id", "text", "query", "memory", "key", "reason_text"}


def faults(metric):
    """What is wrong with it."""
    found = []
    if not re.fullmatch(r"memsift(_[a-z]+)+", metric.name):
        found.append("name")
    if (metric.kind is Kind.COUNTER) != metric.name.endswith("_total"):
        found.append("total")
    if metric.kind is Kind.HISTOGRAM and not metric.name.endswith(UNITS):
        found.append("unit")
    if (metric.kind is Kind.HISTOGRAM) != bool(metric.buckets) or list(metric.buckets) != sorted(
        set(metric.buckets)
    ):
        found.append("buckets")
    if any(not re.fullmatch(r"[a-z]+(_[a-z]+)*", label) for label in metric.labels):
        found.append("label name")
    if (RESERVED | PRIVATE) & set(metric.labels) or len(set(metric.labels)) != len(metric.labels):
        found.append("label")
    if not metric.help.endswith(".") or "\n" in metric.help:
        found.append("help")
    return found


@pytest.mark.parametrize("metric", catalogue.ALL, ids=lambda metric: metric.name)
def test_a_metric_follows_the_conventions(metric):
    assert faults(metric) == []


@pytest.mark.parametrize(
    ("metric", "fault"),
    [
        (counter("memsift_jobs", "So."), "total"),
        (gauge("memsift_jobs_total", "So."), "total"),
        (gauge("jobs", "So."), "name"),
        (gauge("memsift_Jobs", "So."), "name"),
        (histogram("memsift_wait_ms", "So.", buckets=(1.0,)), "unit"),
        (histogram("memsift_wait_seconds", "So.", buckets=(2.0, 1.0)), "buckets"),
        (histogram("memsift_wait_seconds", "So.", buckets=()), "buckets"),
        (gauge("memsift_jobs", "So.", "user"), "label"),
        (gauge("memsift_jobs", "So.", "instance"), "label"),
        (gauge("memsift_jobs", "So.", "Queue"), "label name"),
        (gauge("memsift_jobs", "So"), "help"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_what_breaks_them_is_found(metric, fault):
    assert fault in faults(metric)


def test_every_metric_stands_in_one_section_and_no_name_twice():
    written = [value for value in vars(catalogue).values() if isinstance(value, Metric)]
    assert sorted(metric.name for metric in written) == sorted(metric.name for metric in catalogue.ALL)
    assert len({metric.name for metric in catalogue.ALL}) == len(catalogue.ALL)


def test_buckets_are_fine_where_a_deadline_of_300_to_500_ms_is_decided():
    for metric in (catalogue.CALL_TIME, catalogue.REPLY_TIME, catalogue.RANK_TIME, catalogue.QUEUE_TIME):
        inside = [bound for bound in metric.buckets if 0.3 <= bound <= 0.5]
        assert len(inside) >= 5
        assert max(b - a for a, b in itertools.pairwise(inside)) <= 0.051
