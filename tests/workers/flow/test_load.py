"""Throughput at capacity: what idle time and small batches get done does not count."""

import pytest

from memsift_schemas.settings import WorkerSettings
from memsift_workers.flow.load import MEMORY_S, Load, batches_at_capacity


def work(load, clock, *, jobs, seconds, full=True):
    load.began(full=full)
    clock.advance(seconds)
    load.ended(jobs)


def test_nothing_is_said_before_anything_was_done(clock):
    load = Load(clock, batches=1)
    clock.advance(100)
    assert load.jobs_per_s is None


def test_idle_time_does_not_count(clock):
    load = Load(clock, batches=1)
    for _ in range(200):
        work(load, clock, jobs=10, seconds=0.5)
        clock.advance(50)
    assert load.jobs_per_s == pytest.approx(20, rel=0.1)


def test_batches_at_once_share_the_time(clock):
    load = Load(clock, batches=2)
    for _ in range(200):
        load.began(full=True)
        work(load, clock, jobs=10, seconds=0.5)
        load.ended(10)
    assert load.jobs_per_s == pytest.approx(40, rel=0.1)


def test_what_was_long_ago_fades(clock):
    load = Load(clock, batches=1)
    work(load, clock, jobs=1_000_000, seconds=1.0)
    for _ in range(int(MEMORY_S) * 20):
        work(load, clock, jobs=10, seconds=1.0)
    assert load.jobs_per_s == pytest.approx(10, rel=0.1)


def test_small_batches_say_nothing(clock):
    load = Load(clock, batches=1)
    for _ in range(100):
        work(load, clock, jobs=1, seconds=0.5, full=False)
    assert load.jobs_per_s is None
    work(load, clock, jobs=16, seconds=0.5)
    assert load.jobs_per_s == pytest.approx(32, rel=0.1)


def test_nor_do_full_ones_that_leave_room_for_more(clock):
    load = Load(clock, batches=2)
    for _ in range(100):
        work(load, clock, jobs=16, seconds=0.5)
    assert load.jobs_per_s is None


def test_a_small_batch_among_full_ones_ends_the_measurement(clock):
    load = Load(clock, batches=2)
    load.began(full=True)
    load.began(full=True)
    clock.advance(1.0)
    load.ended(16)
    load.began(full=False)
    clock.advance(100.0)
    load.ended(1)
    load.ended(16)
    assert load.jobs_per_s == pytest.approx(16, rel=0.1)


@pytest.mark.parametrize(
    ("settings", "batches"),
    [
        ({"runtime": "sglang", "runtime_concurrency": 24, "batch_max": 16}, 2),
        ({"runtime": "sglang", "runtime_concurrency": 4, "batch_max": 16}, 1),
        ({"runtime": "sglang", "runtime_concurrency": 999, "batches_in_flight": 3}, 3),
        ({"runtime": "sglang", "adaptive_concurrency": True, "adaptive_min": 4, "batch_max": 16}, 1),
        ({"ranker": "jev", "batches_in_flight": 3}, 3),
    ],
)
def test_capacity_is_as_many_full_batches_as_the_limits_allow(settings, batches):
    assert batches_at_capacity(WorkerSettings(**settings)) == batches
