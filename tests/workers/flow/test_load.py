"""Throughput while busy: idle time does not count."""

import pytest

from memsift_workers.flow.load import MEMORY_S, Load


def work(load, clock, *, jobs, seconds):
    load.began()
    clock.advance(seconds)
    load.ended(jobs)


def test_nothing_is_said_before_anything_was_done(clock):
    load = Load(clock)
    clock.advance(100)
    assert load.jobs_per_s is None


def test_idle_time_does_not_count(clock):
    load = Load(clock)
    for _ in range(200):
        work(load, clock, jobs=10, seconds=0.5)
        clock.advance(50)
    assert load.jobs_per_s == pytest.approx(20, rel=0.1)


def test_batches_at_once_share_the_time(clock):
    load = Load(clock)
    for _ in range(200):
        load.began()
        work(load, clock, jobs=10, seconds=0.5)
        load.ended(10)
    assert load.jobs_per_s == pytest.approx(40, rel=0.1)


def test_what_was_long_ago_fades(clock):
    load = Load(clock)
    work(load, clock, jobs=1_000_000, seconds=1.0)
    for _ in range(int(MEMORY_S) * 20):
        work(load, clock, jobs=10, seconds=1.0)
    assert load.jobs_per_s == pytest.approx(10, rel=0.1)
