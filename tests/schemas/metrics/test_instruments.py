"""Counting goes to the metric's own object, and nowhere else."""

import sys

import pytest
from prometheus_client import CollectorRegistry

from memsift_schemas import SettingsError
from memsift_schemas.metrics import catalogue
from memsift_schemas.metrics.instruments import Instruments
from memsift_schemas.metrics.shared import Shared, SharedView
from memsift_schemas.waiting import Waiting


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
def instruments(registry):
    return Instruments(catalogue.ALL, registry)


def test_each_kind_is_counted(instruments, registry):
    instruments.count(catalogue.JOBS, "local", "ranked", "none", by=3)
    instruments.count(catalogue.JOBS, "local", "ranked", "none")
    instruments.observe(catalogue.RANK_TIME, 0.31, "local")
    instruments.observer(catalogue.SLACK)(0.07)
    instruments.show(catalogue.WORKERS, 2, "q")
    instruments.change(catalogue.IN_RUNTIME, 5)
    instruments.change(catalogue.IN_RUNTIME, -2)
    labels = {"ranker": "local", "outcome": "ranked", "cause": "none"}
    assert registry.get_sample_value("memsift_worker_jobs_total", labels) == 4
    bucket = "memsift_worker_rank_seconds_bucket"
    assert registry.get_sample_value(bucket, {"ranker": "local", "le": "0.3"}) == 0
    assert registry.get_sample_value(bucket, {"ranker": "local", "le": "0.35"}) == 1
    assert registry.get_sample_value("memsift_worker_slack_seconds_sum") == 0.07
    assert registry.get_sample_value("memsift_workers", {"queue": "q"}) == 2
    assert registry.get_sample_value("memsift_worker_in_flight_jobs") == 3


def test_a_counter_that_begins_shows_zero(instruments, registry):
    instruments.begin(catalogue.FALLBACKS, "deadline")
    assert registry.get_sample_value("memsift_producer_fallbacks_total", {"cause": "deadline"}) == 0


def test_what_the_list_does_not_hold_cannot_be_counted(instruments, registry):
    with pytest.raises(KeyError):
        Instruments(catalogue.WORKER, CollectorRegistry()).count(catalogue.CALLS, "model", "none")
    with pytest.raises(ValueError, match="label"):
        instruments.count(catalogue.JOBS, "local")


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(SettingsError, match=r"pip install 'memsift\[metrics\]'"):
        Instruments(catalogue.WORKER)


def test_a_list_that_is_drained_no_more_shows_nothing(instruments, registry):
    view = SharedView(instruments, "q")

    def depth(name):
        return registry.get_sample_value("memsift_queue_jobs", {"queue": "q", "list": name})

    def see(**lists):
        view.saw(Shared(lists, workers=1, breaker_open=False, now=100.0, seconds=0.001))

    see(queue=Waiting(3, 90.0, 95.0), r1=Waiting(2, 99.0, 99.5))
    age = registry.get_sample_value("memsift_queue_oldest_seconds", {"queue": "q", "list": "queue"})
    assert (depth("queue"), depth("r1"), age) == (3, 2, 10)
    see(queue=Waiting())
    assert (depth("queue"), depth("r1")) == (0, 0)
    assert registry.get_sample_value("memsift_redis_up") == 1
    view.lost()
    assert registry.get_sample_value("memsift_redis_up") == 0
