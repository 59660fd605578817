"""Brier score and ECE against cases worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_ops.evaluation import calibrated

PAIRS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30)


def test_brier_by_hand():
    # (.2² + .4² + 0²) / 3
    assert calibrated.brier([0.8, 0.4, 0.0], [True, False, False]) == pytest.approx((0.04 + 0.16) / 3)


def test_ece_by_hand():
    # Bins (.7, .8]: two of mean .75, half are true: .25. (.1, .2]: one of .2, not true: .2. Mean by count.
    assert calibrated.ece([0.72, 0.78, 0.2], [True, False, False]) == pytest.approx((2 * 0.25 + 0.2) / 3)


@pytest.mark.parametrize(("stated", "true"), [(0.0, False), (1.0, True), (0.0, True), (1.0, False)])
def test_the_ends_belong_to_a_bin(stated, true):
    assert calibrated.ece([stated], [true]) == abs(stated - true)


@given(PAIRS)
def test_ece_is_never_above_the_mean_distance(pairs):
    stated, true = zip(*pairs, strict=True)
    distance = sum(abs(a - b) for a, b in pairs) / len(pairs)
    assert -1e-12 <= calibrated.ece(stated, true) <= distance + 1e-12


def test_nothing_without_a_calibration():
    assert calibrated.summary([], []) is None


def test_bins_by_hand():
    found = calibrated.bins([0.72, 0.78, 0.2, 0.0], [True, False, False, False])
    assert [(one["n"], one["relevant"]) for one in found] == [(1, 0), (1, 0), (2, 0.5)]
    assert [one["stated"] for one in found] == pytest.approx([0, 0.2, 0.75])


@given(PAIRS)
def test_bins_tell_the_same_as_ece(pairs):
    stated, true = zip(*pairs, strict=True)
    found = calibrated.bins(stated, true)
    gaps = sum(one["n"] * abs(one["stated"] - one["relevant"]) for one in found) / len(pairs)
    assert gaps == pytest.approx(calibrated.ece(stated, true))
