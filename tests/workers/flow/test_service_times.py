"""Jobs that can't make it are dropped; what is not known drops nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_workers.flow.service_times import FEWEST, MARGIN, STALE_S, ServiceTimes
from tests.conftest import ManualClock
from tests.samples import NOW, job


@pytest.fixture
def times(clock):
    clock.now = NOW.timestamp()
    return ServiceTimes(clock)


def with_left(seconds, clock, budget=10.0):
    return job(deadline=clock.now + seconds, sent_at=clock.now + seconds - budget)


def too_late(times, clock, left, *, crowded=False, budget=10.0):
    needed = times.least_time("local", crowded=crowded)
    return needed.is_too_late(with_left(left, clock, budget), clock.now)


def test_without_history_nothing_is_dropped(times, clock):
    for _ in range(FEWEST - 1):
        times.record("local", 5.0)
    assert not too_late(times, clock, 0.001)
    assert times.median_ms("local") is None


def test_a_job_with_less_time_than_the_fast_batches_need_is_dropped(times, clock):
    for at in range(20):
        times.record("local", 0.2 + at / 100)
    assert too_late(times, clock, 0.19)
    assert not too_late(times, clock, 0.25)
    assert times.median_ms("local") == pytest.approx(300)


def test_when_others_wait_a_job_must_be_likely_to_make_it(times, clock):
    for at in range(20):
        times.record("local", 0.2 + at / 100)
    assert too_late(times, clock, 0.3, crowded=True)
    assert not too_late(times, clock, 0.4 * MARGIN, crowded=True)


def test_a_young_job_is_tried_even_in_a_crowd(times, clock):
    """Else a ranker that is just fast enough would never be asked again."""
    for at in range(20):
        times.record("local", 0.2 + at / 100)
    assert not too_late(times, clock, 0.3, crowded=True, budget=0.5)


def test_what_was_measured_long_ago_drops_nothing(times, clock):
    for _ in range(20):
        times.record("local", 0.2)
    clock.advance(STALE_S + 0.1)
    assert not too_late(times, clock, 0.1)


def test_a_slow_batch_under_way_is_no_reason_to_forget(times, clock):
    for _ in range(20):
        times.record("local", 5.0)
    clock.advance(6.0)
    assert too_late(times, clock, 4.0)


def test_rankers_have_their_own_times(times, clock):
    for _ in range(20):
        times.record("nox", 3.0)
    assert not too_late(times, clock, 0.1)


@given(st.lists(st.floats(0.001, 10), min_size=1, max_size=100), st.booleans())
def test_a_job_with_clearly_more_time_than_any_batch_took_is_never_dropped(seconds, crowded):
    clock = ManualClock()
    times = ServiceTimes(clock)
    for one in seconds:
        times.record("local", one)
    assert not too_late(times, clock, max(seconds) * (MARGIN + 0.01), crowded=crowded, budget=100.0)
