"""Metrics against values computed by hand."""

import pytest

from memsift_ops import metrics

RANKING = ["d", "a", "e", "b", "f", "c"]
GOLD = {"a", "b", "c", "not recalled"}


@pytest.mark.parametrize(
    ("k", "hit", "recall", "precision"),
    [
        (1, 0.0, 0.0, 0.0),
        (2, 1.0, 1 / 4, 1 / 2),
        (3, 1.0, 1 / 4, 1 / 3),
        (4, 1.0, 2 / 4, 2 / 4),
        (6, 1.0, 3 / 4, 3 / 6),
        (9, 1.0, 3 / 4, 3 / 9),
    ],
)
def test_at_k(k, hit, recall, precision):
    assert metrics.hit_at(k, RANKING, GOLD) == hit
    assert metrics.recall_at(k, RANKING, GOLD) == pytest.approx(recall)
    assert metrics.precision_at(k, RANKING, GOLD) == pytest.approx(precision)


@pytest.mark.parametrize(
    ("gold", "expected"), [({"d"}, 1.0), ({"a", "c"}, 1 / 2), ({"c"}, 1 / 6), ({"not recalled"}, 0.0)]
)
def test_reciprocal_rank(gold, expected):
    assert metrics.reciprocal_rank(RANKING, gold) == pytest.approx(expected)


def test_the_interval_of_equal_differences_is_that_difference():
    assert metrics.bootstrap_interval([0.25] * 40) == pytest.approx((0.25, 0.25))


def test_the_interval_of_a_coin_is_that_of_the_binomial():
    # Given 50 gains and 50 losses, whose mean has a standard deviation of 1 / sqrt(100)
    low, high = metrics.bootstrap_interval([1.0, -1.0] * 50)
    # Then 95% of the means lie within 1.96 of them
    assert (low, high) == pytest.approx((-0.196, 0.196), abs=0.025)


def test_the_interval_is_the_same_every_time():
    differences = [at % 7 / 7 - 0.4 for at in range(60)]
    assert metrics.bootstrap_interval(differences) == metrics.bootstrap_interval(differences)
