"""Each check is kept by a good record and broken by the fault that it is there for."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_ops.chaos.checks import Check, always, quantile, tally, valid
from tests.ops.chaos.made_up import call, fallback

GOOD = [call(0), fallback(1), fallback(2, "runtime_unavailable")]


def broken(calls, expected=3):
    return [check.promise for check in always(tally(calls, expected)) if not check.kept]


def test_a_good_record_keeps_every_promise():
    found = tally(GOOD, 3)
    assert broken(GOOD) == []
    assert (found.answered, found.by_model) == (3, 1)
    assert found.fallbacks == {"deadline": 1, "runtime_unavailable": 1}


@pytest.mark.parametrize(
    ("spoiled", "promise"),
    [
        (GOOD[:2], "calls without an answer"),
        ([*GOOD[:2], call(2, source="", cause="hung", ranked=())], "calls without an answer"),
        ([*GOOD[:2], GOOD[0]], "calls without an answer"),  # twice the same is one answer
        ([*GOOD[:2], call(2, ranked=("a0-2.0", "a0-2.1", "a0-2.2"))], "invalid rankings"),
        ([*GOOD[:2], call(2, ranked=("a0-2.0", "a0-2.1", "a0-2.2", "a0-2.2"))], "invalid rankings"),
        ([*GOOD[:2], call(2, ranked=("a0-2.0", "a0-2.1", "a0-2.2", "a0-2.9"))], "invalid rankings"),
        ([*GOOD[:2], call(2, over_ms=10.5)], "return after the deadline at p99.9, ms"),
    ],
)
def test_a_fault_breaks_its_promise_and_no_other(spoiled, promise):
    assert broken(spoiled) == [promise]


def test_another_calls_memory_is_both_foreign_and_invalid():
    spoiled = [*GOOD[:2], call(2, ranked=("a0-1.0", "a0-2.1", "a0-2.2", "a0-2.3"))]
    assert broken(spoiled) == ["invalid rankings", "answers that hold another call's memories"]


def test_call_1_does_not_own_what_begins_like_its_name():
    assert tally([call(1, ranked=("a0-10.0",), candidates=1)], 1).foreign == 1


def test_lateness_that_the_loop_explains_is_taken_off():
    assert broken([*GOOD[:2], call(2, over_ms=50.0, lag_ms=45.0)]) == []
    assert broken([*GOOD[:2], call(2, over_ms=50.0, lag_ms=30.0)]) != []
    # A control that came back early explains nothing.
    assert broken([*GOOD[:2], call(2, over_ms=5.0, lag_ms=-30.0)]) == []


@given(st.integers(1, 20), st.data())
def test_a_ranking_is_valid_if_and_only_if_it_is_a_permutation(candidates, data):
    good = call(candidates=candidates)
    shuffled = data.draw(st.permutations(good.ranked))
    assert valid(dataclasses.replace(good, ranked=tuple(shuffled)))
    dropped = data.draw(st.integers(0, candidates - 1))
    missing = (*shuffled[:dropped], *shuffled[dropped + 1 :])
    assert not valid(dataclasses.replace(good, ranked=missing))
    doubled = data.draw(st.sampled_from(good.ranked))
    assert not valid(dataclasses.replace(good, ranked=(*shuffled, doubled)))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0.01, 1))
def test_a_quantile_is_the_least_value_that_covers_its_share(values, share):
    found = quantile(values, share)
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9
    assert sum(value < found for value in values) < share * len(values)


def test_what_was_never_seen_breaks_a_promise():
    assert not Check("x", None, 1).kept
    assert not Check("x", float("nan"), 1).kept
    assert Check("x", 1, 1).kept
    assert not Check("x", 0.9, 1, at_least=True).kept
    assert Check("x", 1, 1, at_least=True).kept
