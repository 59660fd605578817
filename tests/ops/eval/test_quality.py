"""Metrics against cases worked out by hand, and intervals that hold what they must."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_ops import metrics
from memsift_ops.evaluation import quality

LOG = math.log2


@pytest.mark.parametrize(
    ("ranking", "gold", "expected"),
    [
        ("abcd", "a", 1.0),
        ("abcd", "b", 1 / LOG(3)),
        # Found in places 1 and 3 of two relevant ones: (1 + 1/2) / (1 + 1/log2(3))
        ("abcd", "ac", 1.5 / (1 + 1 / LOG(3))),
        # One of two was missed by recall: it counts in the ideal.
        ("abcd", "bx", (1 / LOG(3)) / (1 + 1 / LOG(3))),
        ("abcdefghijk", "k", 0.0),
        ("", "a", 0.0),
    ],
)
def test_ndcg_by_hand(ranking, gold, expected):
    assert quality.ndcg_at(10, list(ranking), frozenset(gold)) == pytest.approx(expected)


def test_every_metric_by_hand():
    # Given relevant memories in places 2, 5 and 6, and one that recall missed
    found = dict(zip(quality.METRICS, quality.of_ranking(list("abcdefg"), frozenset("befx")), strict=True))
    ideal = 1 + 1 / LOG(3) + 1 / LOG(4) + 1 / LOG(5)
    assert found == pytest.approx(
        {
            "p_at_1": 0.0,
            "p_at_3": 1 / 3,
            "hit_at_3": 1.0,
            "recall_at_5": 2 / 4,
            "mrr": 1 / 2,
            "ndcg_at_10": (1 / LOG(3) + 1 / LOG(6) + 1 / LOG(7)) / ideal,
        }
    )


@pytest.mark.parametrize(
    ("gold", "expected"), [("a", 1 / 3), ("ab", 2 / 3), ("abcd", 1.0), ("ax", 1 / 3), ("x", 0)]
)
def test_the_oracle_has_only_what_recall_brought(gold, expected):
    assert quality.oracle_p_at_3("abcd", frozenset(gold)) == pytest.approx(expected)


@given(st.permutations("abcdef"), st.sets(st.sampled_from("abcdefxy"), min_size=1))
def test_no_metric_leaves_its_range_and_a_perfect_order_reaches_the_top(order, gold):
    gold = frozenset(gold)
    values = quality.of_ranking(order, gold)
    perfect = quality.of_ranking(sorted(order, key=lambda one: one not in gold), gold)
    assert all(0 <= value <= best <= 1 + 1e-12 for value, best in zip(values, perfect, strict=True))


def test_intervals_hold_the_mean_and_are_the_same_for_the_same_seed():
    values = np.random.default_rng(3).random((60, 3))
    found = quality.intervals(values, seed=7)
    for (low, high), mean in zip(found, values.mean(axis=0), strict=True):
        assert low < mean < high
    assert quality.intervals(values, seed=7) == found
    assert quality.intervals(values, seed=8) != found


def test_intervals_are_those_of_the_plain_bootstrap():
    # Given the same values, the one-column bootstrap of `metrics` as a reference
    values = np.random.default_rng(5).random(80)
    ((low, high),) = quality.intervals(values[:, None], seed=1)
    assert (low, high) == pytest.approx(metrics.bootstrap_interval(values), abs=0.005)


def test_a_difference_without_spread_has_no_width():
    assert quality.intervals(np.full((9, 1), 0.25), seed=1) == [(0.25, 0.25)]
