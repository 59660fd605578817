"""The limit settles near the point where jobs begin to queue, and comes back after a slow phase."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_workers.flow.adaptive import WINDOW, AdaptiveLimit


def drive(limit, knee, *, base=0.1, updates=600):
    """A server that works on `knee` jobs at once in `base` seconds; more of them wait their turn."""
    for _ in range(updates):
        under_way = limit.limit
        limit.update(base * max(1.0, under_way / knee), under_way)
    return limit.limit


@pytest.mark.parametrize("knee", [8, 24, 100])
@pytest.mark.parametrize("start", [4, 200])
def test_it_converges_near_the_knee(knee, start):
    limit = AdaptiveLimit(start, least=1, most=256)
    limit.update(0.1, 1)  # one job alone, at first
    found = drive(limit, knee, updates=250)
    assert knee <= found <= knee + 20


def test_it_falls_in_a_slow_phase_and_recovers():
    limit = AdaptiveLimit(24, least=4, most=256)
    before = drive(limit, 24, updates=100)
    slow = drive(limit, 24, base=1.0, updates=50)
    after = drive(limit, 24, updates=100)
    assert slow <= 6
    assert abs(after - before) <= 10


def test_a_runtime_that_stays_slower_is_learned():
    limit = AdaptiveLimit(24, least=4, most=256)
    drive(limit, 24, updates=100)
    assert drive(limit, 24, base=0.3, updates=4 * WINDOW) >= 24


def test_what_is_hardly_used_is_left_alone():
    limit = AdaptiveLimit(24, least=4, most=256)
    for _ in range(100):
        limit.update(0.1, 2)
    assert limit.limit == 24


@given(
    st.integers(1, 300),
    st.integers(1, 50),
    st.integers(1, 300),
    st.lists(st.tuples(st.floats(), st.integers(0, 500)), max_size=400),
)
def test_it_is_always_within_its_bounds(start, least, most, measured):
    limit = AdaptiveLimit(start, least=least, most=most)
    for seconds, in_flight in measured:
        assert least <= limit.update(seconds, in_flight) <= max(most, least)
