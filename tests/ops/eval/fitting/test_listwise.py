"""The optimum of the listwise loss: against finite differences, planted weights, and its bounds."""

import numpy as np
import pytest

from memsift_ops.evaluation.fitting import listwise

DEFAULTS = np.array([1.0, 0.5, -0.2])


def planted(weights, *, questions=400, candidates=12, seed=3):
    """Questions whose relevant candidate was drawn from the softmax of its scores."""
    random = np.random.default_rng(seed)
    tables = [random.standard_normal((candidates - at % 3, len(weights))) for at in range(questions)]
    relevant = []
    for table in tables:
        noise = random.gumbel(size=len(table))
        relevant.append(np.arange(len(table)) == (table @ weights + noise).argmax())
    return listwise.lists(tables, relevant, np.ones(questions))


def test_the_loss_by_hand():
    # Given two candidates with scores 0 and log 3: shares 1/4 and 3/4; both relevant in a second question
    tables = [np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]])]
    given = listwise.lists(tables, [np.array([False, True]), np.array([True, True])], np.array([1.0, 1.0]))
    expected = (-np.log(3 / 4) - (np.log(3 / 4) + np.log(1 / 4)) / 2) / 2
    assert listwise.loss(given, np.array([np.log(3)])) == pytest.approx(expected)


def test_the_derivatives_are_those_of_the_loss():
    given, at, step = planted(DEFAULTS, questions=30), np.array([0.3, -0.4, 0.9]), 1e-5
    gradient, curvature = listwise._derivatives(given, at)
    for axis in range(3):
        move = step * np.eye(3)[axis]
        slope = (listwise.loss(given, at + move) - listwise.loss(given, at - move)) / (2 * step)
        bend = (listwise._derivatives(given, at + move)[0] - listwise._derivatives(given, at - move)[0]) / (
            2 * step
        )
        assert gradient[axis] == pytest.approx(slope, abs=1e-6)
        assert curvature[axis] == pytest.approx(bend, abs=1e-6)


def test_planted_weights_are_found_up_to_scale():
    true = np.array([1.0, -0.5, 2.0])
    found = listwise.fit(planted(true), DEFAULTS, pull=1e-4)
    cosine = found @ true / np.linalg.norm(found) / np.linalg.norm(true)
    assert cosine > 0.99
    assert np.linalg.norm(found) == pytest.approx(np.linalg.norm(DEFAULTS))


def test_a_strong_pull_leaves_the_defaults():
    found = listwise.fit(planted(DEFAULTS), DEFAULTS, pull=1e4)
    assert found == pytest.approx(DEFAULTS, abs=1e-3)


def test_weights_stay_above_their_bound_where_the_free_optimum_does_not():
    true = np.array([1.0, 0.4, -0.6])
    given, defaults = planted(true), np.array([1.0, 0.5, 0.2])
    assert listwise.fit(given, defaults, pull=1e-4)[2] < 0
    bounded = listwise.fit(given, defaults, pull=1e-4, lower=0.0)
    assert bounded[2] == 0
    assert (bounded[:2] > 0).all()
    # And no way that is allowed from there is better
    gradient, _ = listwise._derivatives(given, bounded)
    assert gradient[2] > 0


def test_a_feature_that_tells_nothing_is_no_trouble():
    given = planted(np.array([1.0, 0.0]))
    given = given._replace(features=np.concatenate([given.features, np.zeros((*given.present.shape, 1))], 2))
    found = listwise.fit(given, DEFAULTS, pull=0.01)
    assert np.isfinite(found).all()


def test_a_question_that_counts_more_pulls_more():
    # Given two questions that want opposite weights
    tables = [np.array([[1.0], [0.0]]), np.array([[1.0], [0.0]])]
    relevant = [np.array([True, False]), np.array([False, True])]
    heavy = listwise.lists(tables, relevant, np.array([3.0, 1.0]))
    assert heavy.weight.mean() == 1
    gradient, _ = listwise._derivatives(heavy, np.zeros(1))
    assert gradient[0] < 0
