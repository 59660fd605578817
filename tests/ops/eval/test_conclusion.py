"""The one sentence: who is best within the budget, and whether that is more than noise."""

import pytest

from memsift_ops.evaluation.conclusion import sentence


def numbers(mrr, gain=None, ci95=(0.0, 0.0), *, p95=10.0, n=10, fell_back=0):
    against = None if gain is None else {"mrr": {"difference": gain, "ci95": list(ci95)}}
    return {
        "n": n,
        "mrr": mrr,
        "latency_ms": {"p95": p95},
        "fell_back": {"n": fell_back},
        "against_prefilter": against,
    }


BEFORE = numbers(0.5)


@pytest.mark.parametrize(
    ("ci95", "noise"),
    [((0.01, 0.2), "beyond noise"), ((-0.01, 0.2), "within noise"), ((0.0, 0.2), "within noise")],
)
def test_the_best_within_the_budget_and_whether_it_is_noise(ci95, noise):
    jev, other = numbers(0.6, 0.1, ci95), numbers(0.55, 0.05)
    said = sentence({"s": {"prefilter": BEFORE, "other": other, "jev": jev}})
    assert said.startswith("Within 500 ms, jev has the best MRR: 0.600 against the prefilter's 0.500,")
    assert f"that is {noise} (95% interval {ci95[0]:+.3f} to +0.200)." in said


def test_over_several_sets_it_counts_them():
    sets = {
        "a": {"prefilter": BEFORE, "jev": numbers(0.8, 0.3, (0.1, 0.5))},
        "b": {"prefilter": BEFORE, "jev": numbers(0.4, -0.1, (-0.2, -0.05))},
        "c": {"prefilter": BEFORE, "jev": numbers(0.6, 0.1, (-0.2, 0.3))},
    }
    assert sentence(sets) == (
        "Within 500 ms, jev has the best MRR: 0.600 against the prefilter's 0.500, ahead beyond noise on 1 "
        "of 3 sets and behind on 1."
    )
    sets = dict.fromkeys("ab", sets["c"])
    assert "a difference that is within noise on each of the 2 sets." in sentence(sets)


def test_a_better_one_beyond_the_budget_is_named_with_its_time():
    slow = numbers(0.7, 0.2, p95=900)
    said = sentence({"s": {"prefilter": BEFORE, "jev": numbers(0.6, 0.1), "nox": slow}})
    assert said.startswith("Within 500 ms, jev")
    assert said.endswith("; nox gains +0.200 on the prefilter, but takes 900 ms at the 95th percentile.")
    alone = sentence({"s": {"prefilter": BEFORE, "nox": slow}})
    assert alone.startswith("No ranker answers within 500 ms but the prefilter; nox gains")


def test_nothing_ahead_of_the_prefilter():
    said = sentence(
        {"s": {"prefilter": BEFORE, "jev": numbers(0.4, -0.1), "nox": numbers(0.4, -0.1, p95=900)}}
    )
    assert said == "No ranker within 500 ms is ahead of the prefilter."


def test_questions_that_it_did_not_answer_are_told():
    said = sentence({"s": {"prefilter": BEFORE, "jev": numbers(0.6, 0.1, n=7, fell_back=3)}})
    assert "on the 7 of 10 questions that it answered" in said


@pytest.mark.parametrize("rankers", [{}, {"jev": numbers(None, n=0)}])
def test_nobody_else_answered(rankers):
    assert sentence({"s": {"prefilter": BEFORE, **rankers}}).startswith(
        "No ranker but the prefilter answered"
    )


def test_a_set_that_no_memory_answers_does_not_count():
    empty = {"prefilter": numbers(None, n=0), "jev": numbers(None, n=0)}
    said = sentence({"none": empty, "s": {"prefilter": BEFORE, "jev": numbers(0.6, 0.1, (0.05, 0.2))}})
    assert "that is beyond noise" in said
