"""From outcomes to numbers, by hand on four questions."""

import pytest

from memsift_ops.datasets import load
from memsift_ops.evaluation.summary import summarise
from tests.ops.eval.made_up import outcome, write_set

M = [f"small/m{at}" for at in range(4)]


@pytest.fixture
def asked(tmp_path):
    """q00 (gold m3), q01 (m1), q02 (m2), q03 (m3)."""
    found = load(write_set(tmp_path), "small", limit=None, seed=1)
    return sorted(found, key=lambda one: one.id)[:4]


def outcomes():
    before = [outcome(f"q0{at}", M, ranker="prefilter", cpu_ms=1.0) for at in range(4)]
    after = [
        outcome("q00", [M[3], M[0], M[1], M[2]], rank_ms=1.0, cpu_ms=2.0, cost_usd=0.001),
        outcome("q01", M, rank_ms=3.0, cpu_ms=4.0, cost_usd=0.003),
        outcome("q02", (), cause="deadline", cpu_ms=6.0),
        outcome("q03", [M[0], M[3], M[1], M[2]], rank_ms=5.0, cpu_ms=8.0),
    ]
    return before + after


def test_what_fell_back_is_counted_apart_and_its_questions_leave_the_comparison(asked):
    found = summarise({"small": asked}, ["prefilter", "jev"], outcomes(), seed=1)["small"]
    before, jev = found["prefilter"], found["jev"]
    # Places of gold: prefilter 4, 2, 3, 4; jev 1, 2, -, 2
    assert before["mrr"] == pytest.approx((1 / 4 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert jev["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)
    assert (before["n"], jev["n"], jev["fell_back"]) == (4, 3, {"n": 1, "causes": {"deadline": 1}})
    assert before["fell_back"] == {"n": 0, "causes": {}}
    # Paired on the three that jev answered: (3/4 + 0 + 1/4) / 3
    against = jev["against_prefilter"]["mrr"]
    assert against["difference"] == pytest.approx(1 / 3)
    assert against["ci95"][0] <= 1 / 3 <= against["ci95"][1]
    assert before["against_prefilter"] is None
    # One relevant memory each: the oracle's P@3 is 1/3, jev's too.
    assert (jev["p_at_3"], jev["p_at_3_of_oracle"]) == pytest.approx((1 / 3, 1.0))
    assert before["p_at_3_of_oracle"] == pytest.approx(2 / 4)


def test_time_money_and_groups(asked):
    jev = summarise({"small": asked}, ["prefilter", "jev"], outcomes(), seed=1)["small"]["jev"]
    assert jev["latency_ms"] == {"p50": 10.0, "p95": 10.0, "p99": 10.0}
    assert jev["rank_ms"]["p50"] == 3.0
    assert jev["cpu_ms"] == 5.0
    assert jev["cost_per_million"] == pytest.approx(0.004 / 3 * 1e6)
    assert {name: group["n"] for name, group in jev["by_language"].items()} == {"en": 1, "zh": 2}
    assert jev["by_category"]["plans"]["mrr"] == pytest.approx((1 + 1 / 2) / 2)
    assert set(jev["by_category"]) == {"plans", "facts"}


def test_a_ranker_that_never_answered_has_no_numbers(asked):
    silent = [outcome(f"q0{at}", (), cause="deadline") for at in range(4)]
    found = summarise({"small": asked}, ["prefilter", "jev"], outcomes()[:4] + silent, seed=1)
    jev = found["small"]["jev"]
    assert (jev["n"], jev["mrr"], jev["ci95"]["mrr"], jev["latency_ms"]["p50"]) == (0, None, None, None)
    assert (jev["cpu_ms"], jev["cost_per_million"], jev["by_category"]) == (None, None, {})


def test_the_order_of_outcomes_does_not_matter(asked):
    one = summarise({"small": asked}, ["prefilter", "jev"], outcomes(), seed=1)
    assert summarise({"small": asked}, ["prefilter", "jev"], outcomes()[::-1], seed=1) == one
