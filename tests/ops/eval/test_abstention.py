"""AUROC against cases worked out by hand, and what must hold for any evidence."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_ops.datasets import load
from memsift_ops.evaluation import abstention
from memsift_ops.evaluation.summary import summarise
from tests.ops.eval.made_up import outcome, write_set

EVIDENCE = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("answerable", "unanswerable", "expected"),
    [
        ([2.0, 3.0], [0.0, 1.0], 1.0),
        ([0.0, 1.0], [2.0, 3.0], 0.0),
        ([1.0, 1.0], [1.0], 0.5),
        # Pairs: 3>2, 3>1, 1<2, 1=1: two wins and a tie of four.
        ([3.0, 1.0], [2.0, 1.0], 2.5 / 4),
        # 5>4, 5>2, 5>2, 2<4, 2=2, 2=2
        ([5.0, 2.0], [4.0, 2.0, 2.0], (3 + 2 * 0.5) / 6),
    ],
)
def test_auroc_by_hand(answerable, unanswerable, expected):
    assert abstention.auroc(answerable, unanswerable) == pytest.approx(expected)


@given(EVIDENCE, EVIDENCE)
def test_swapping_the_two_kinds_mirrors_it(answerable, unanswerable):
    forward = abstention.auroc(answerable, unanswerable)
    assert 0 <= forward <= 1
    assert abstention.auroc(unanswerable, answerable) == pytest.approx(1 - forward)


@given(EVIDENCE, EVIDENCE)
def test_only_the_order_of_the_evidence_counts(answerable, unanswerable):
    def risen(values):
        return [value**3 + 2 * value for value in values]

    assert abstention.auroc(risen(answerable), risen(unanswerable)) == abstention.auroc(
        answerable, unanswerable
    )


def test_the_interval_holds_it_and_is_the_same_for_the_same_seed():
    answerable, unanswerable = [float(at) for at in range(10, 60)], [float(at) for at in range(40)]
    low, high = abstention.auroc_interval(answerable, unanswerable, seed=1)
    assert 0 < low < abstention.auroc(answerable, unanswerable) < high < 1
    assert abstention.auroc_interval(answerable, unanswerable, seed=1) == (low, high)
    assert abstention.auroc_interval(answerable, unanswerable, seed=2) != (low, high)
    # Standard error of Hanley and McNeil (1982) for A = .85: about .04, so 1.96 of it to each side
    assert high - low == pytest.approx(2 * 1.96 * 0.04, rel=0.3)


def test_one_kind_alone_tells_nothing():
    assert abstention.summary([1.0], [], seed=1) == {
        "auroc": None,
        "ci95": None,
        "n_answerable": 1,
        "n_unanswerable": 0,
    }


@pytest.fixture
def measured(tmp_path):
    """Two sets, the second without answers; evidence is 5 for what has one, 3 else, and for q00 the same."""
    asked = {name: load(write_set(tmp_path, name), name) for name in ("small", "small_none")}
    asked["small_none"] = [dataclasses.replace(one, gold=frozenset()) for one in asked["small_none"]]
    outcomes = [
        outcome(
            one.id,
            [memory.id for memory in one.memories],
            ranker="prefilter",
            name=name,
            evidence=(5.0 if one.gold or one.id == "q00" else 3.0, 1.0, 1.0, 0.0),
            scores=(9.0, 8.0, 7.0, 6.0),
        )
        for name, cases in asked.items()
        for one in cases
    ]
    return asked, outcomes


def test_quality_is_of_answerable_questions_and_abstention_of_both(measured):
    asked, outcomes = measured
    found = summarise(asked, ["prefilter"], outcomes, seed=1)
    alone = summarise({"small": asked["small"]}, ["prefilter"], outcomes, seed=1)
    # The set with answers is measured as if it were alone.
    assert found["small"] == alone["small"]
    assert found["small"]["prefilter"]["n"] == 12
    assert found["small"]["prefilter"]["abstention"]["auroc"] is None
    # The other one has no quality, and its AUROC is against its sibling: 11 lose to all, q00 ties with all.
    none = found["small_none"]["prefilter"]
    assert (none["n"], none["mrr"], none["by_category"]) == (0, None, {})
    assert none["abstention"]["auroc"] == pytest.approx((11 + 0.5) / 12)
    assert (none["abstention"]["n_answerable"], none["abstention"]["n_unanswerable"]) == (12, 12)


def test_without_its_sibling_a_set_that_nothing_answers_has_no_auroc(measured):
    asked, outcomes = measured
    found = summarise({"small_none": asked["small_none"]}, ["prefilter"], outcomes, seed=1)
    assert found["small_none"]["prefilter"]["abstention"]["auroc"] is None


def test_scores_stand_in_for_evidence_and_a_fallback_has_none():
    assert outcome("q", "ab", evidence=(2.0, 1.0), scores=(7.0, 6.0)).best_evidence == 2.0
    assert outcome("q", "ab", scores=(7.0, 6.0)).best_evidence == 7.0
    assert outcome("q", "", cause="deadline").best_evidence is None
