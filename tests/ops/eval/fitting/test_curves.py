"""Which memories a curve is fitted on, and that it is judged on others."""

from random import Random

from memsift_ops.datasets import load
from memsift_ops.evaluation.fitting import curves
from tests.ops.eval.made_up import outcome, write_set

EVIDENCE = (3.0, 2.0, 1.0)


def answered(asked, **fields):
    """The last candidate pruned; evidence for the other three."""
    return [
        outcome(one.id, [memory.id for memory in one.memories], evidence=EVIDENCE, pruned=1, **fields)
        for one in asked
    ]


def test_pairs_are_the_memories_with_evidence_and_no_fallback(tmp_path):
    asked = {"small": load(write_set(tmp_path), "small")}
    outcomes = answered(asked["small"][:10], model="m-1")
    outcomes += [outcome(asked["small"][10].id, "", cause="deadline")]
    outcomes += [outcome(asked["small"][11].id, "ab", scores=(2.0, 1.0))]
    outcomes += answered(asked["small"], ranker="nox")
    found = curves.pairs(asked, "jev", outcomes)
    assert found.evidence == [EVIDENCE] * 10
    assert found.model == "m-1"
    gold = {one.id: one.gold for one in asked["small"]}
    for one, relevant in zip(sorted(outcomes[:10], key=lambda one: one.query), found.relevant, strict=True):
        assert relevant == tuple(key in gold[one.query] for key in one.ranking[:3])


def test_the_curve_is_of_the_model_and_rises_with_evidence(tmp_path):
    asked = {"small": load(write_set(tmp_path), "small")}
    outcomes = answered(asked["small"], model="m-1")
    found = curves.curve(curves.pairs(asked, "jev", outcomes), method="isotonic")
    assert (found.model, found.n) == ("m-1", 36)
    assert found.probability(3.0) >= found.probability(2.0) >= found.probability(1.0)


def test_a_curve_is_judged_on_questions_that_it_has_not_seen():
    # Given evidence that means nothing
    random = Random(1)
    given = curves.Pairs(
        evidence=[(random.random(), random.random()) for _ in range(20)],
        relevant=[(random.random() < 0.5, random.random() < 0.5) for _ in range(20)],
        sets=["s"] * 20,
        model="",
    )
    seen = curves.curve(given, method="isotonic")
    held = curves.out_of_fold(given, method="isotonic", seed=1)
    assert held["n"] == 40
    brier = (
        sum(
            (seen.probability(value) - true) ** 2
            for values, truths in zip(given.evidence, given.relevant, strict=True)
            for value, true in zip(values, truths, strict=True)
        )
        / 40
    )
    assert held["brier"] > brier


def test_without_both_kinds_there_is_no_curve():
    for true in (True, False):
        given = curves.Pairs([(1.0, 2.0)] * 8, [(true, true)] * 8, ["s"] * 8, "")
        assert curves.curve(given, method="platt") is None
        assert curves.out_of_fold(given, method="platt", seed=1) is None
