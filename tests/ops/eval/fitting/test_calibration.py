"""Curves fitted on labelled evidence: against cases worked out by hand, and what holds for any labels."""

import math
import random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memsift_ops.evaluation.fitting.calibration import METHODS, MOST_KNOTS, fit_curve
from memsift_schemas import InvalidInput

pairs = st.lists(st.tuples(st.floats(-1e6, 1e6), st.booleans()), min_size=2, max_size=60)


@pytest.mark.parametrize("method", METHODS)
@given(pairs)
def test_any_labels_give_a_curve_that_never_falls(method, given_pairs):
    evidence, relevant = zip(*given_pairs, strict=True)
    assume(0 < sum(relevant) < len(relevant))
    curve = fit_curve(evidence, relevant, method=method)
    found = [curve.probability(one) for one in sorted(evidence)]
    assert found == sorted(found)
    assert (curve.n, curve.positives) == (len(relevant), sum(relevant))
    assert len(curve.knots) <= MOST_KNOTS


def test_isotonic_by_hand():
    # 3 and 4 violate the order and share (1 + 0) / 2, at their mean evidence; 1 and 2 are alike.
    curve = fit_curve([1, 2, 3, 4, 5], [False, False, True, False, True], method="isotonic")
    assert curve.knots == ((1.5, 0.0), (3.5, 0.5), (5.0, 1.0))


def test_ties_in_evidence_share_one_probability():
    curve = fit_curve([1, 1, 1, 1, 2, 2], [True, False, False, False, True, True], method="isotonic")
    assert curve.knots == ((1.0, 0.25), (2.0, 1.0))


@given(st.lists(st.booleans(), min_size=2, max_size=MOST_KNOTS))
def test_isotonic_is_the_least_squares_fit(relevant):
    # Its closed form (Robertson, Wright and Dykstra 1988): the largest of the smallest means around a point.
    assume(0 < sum(relevant) < len(relevant))
    places = range(len(relevant))
    means = {(a, b): np.mean(relevant[a : b + 1]) for a in places for b in places if a <= b}
    fitted = {max(min(means[a, b] for b in places[at:]) for a in places[: at + 1]) for at in places}
    curve = fit_curve(places, relevant, method="isotonic")
    assert [level for _, level in curve.knots] == pytest.approx(sorted(fitted))


def test_many_levels_are_thinned_without_losing_the_curve():
    random_ = random.Random(1)
    evidence = [random_.uniform(-4, 4) for _ in range(5_000)]
    relevant = [random_.random() < 1 / (1 + math.exp(-one)) for one in evidence]
    curve = fit_curve(evidence, relevant, method="isotonic")
    assert len(curve.knots) == MOST_KNOTS
    assert max(abs(curve.probability(x) - 1 / (1 + math.exp(-x))) for x in np.linspace(-3, 3, 50)) < 0.1


def test_platt_finds_the_logistic_function_that_made_the_labels():
    random_ = random.Random(2)
    evidence = [random_.uniform(-1, 5) for _ in range(20_000)]
    relevant = [random_.random() < 1 / (1 + math.exp(-(1.5 * one - 2))) for one in evidence]
    curve = fit_curve(evidence, relevant, method="platt")
    assert (curve.slope, curve.intercept) == (pytest.approx(1.5, abs=0.08), pytest.approx(-2, abs=0.15))
    # At the optimum the mean probability is the (smoothed) base rate.
    assert np.mean([curve.probability(one) for one in evidence]) == pytest.approx(np.mean(relevant), abs=1e-3)


def test_evidence_that_is_all_the_same_gives_platts_smoothed_base_rate():
    curve = fit_curve([5.0, 5.0, 5.0], [True, False, False], method="platt")
    assert curve.slope == 0
    assert curve.probability(5.0) == pytest.approx((1 + 1) / (3 + 2))


def test_separable_labels_give_a_finite_slope_and_no_certainty():
    curve = fit_curve([0, 1, 2, 3], [False, False, True, True], method="platt")
    assert 0 < curve.probability(0) < 0.5 < curve.probability(3) < 1


def test_evidence_that_points_the_wrong_way_tells_nothing():
    curve = fit_curve(range(100), [at < 20 for at in range(100)], method="platt")
    assert curve.slope == 0
    assert curve.probability(0) == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(
    ("evidence", "relevant", "method"),
    [
        ([1.0], [True, False], "platt"),
        ([1.0, math.nan], [True, False], "isotonic"),
        ([1.0, math.inf], [True, False], "platt"),
        ([1.0, 2.0], [True, True], "isotonic"),
        ([1.0, 2.0], [False, False], "platt"),
        ([], [], "platt"),
        ([1.0, 2.0], [True, False], "guess"),
    ],
)
def test_what_cannot_be_fitted_is_refused(evidence, relevant, method):
    with pytest.raises(InvalidInput):
        fit_curve(evidence, relevant, method=method)
