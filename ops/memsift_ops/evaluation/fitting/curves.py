"""Learns for each ranker what its evidence is worth as a probability, and tells how well that holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from memsift_ops.datasets import Case
from memsift_ops.evaluation import calibrated
from memsift_ops.evaluation.fitting.calibration import fit_curve
from memsift_ops.evaluation.fitting.folds import FOLDS, folds
from memsift_ops.evaluation.outcome import Outcome
from memsift_schemas.calibration import Curve

Method = Literal["isotonic", "platt"]


class Pairs(NamedTuple):
    """The memories that one ranker saw.

    Attributes:
        evidence: for each question that of its memories.
        relevant: likewise, whether they are.
        sets: the set of each question.
        model: the ranker's model, "" where there is none.
    """

    evidence: list[tuple[float, ...]]
    relevant: list[tuple[bool, ...]]
    sets: list[str]
    model: str


def pairs(asked: Mapping[str, Sequence[Case]], ranker: str, outcomes: Sequence[Outcome]) -> Pairs:
    """Evidence and relevance of every memory that a ranker gave evidence for.

    Args:
        asked: the questions of each set; of those that no memory answers, every memory is irrelevant.
        ranker: whose.
        outcomes: in any order.
    """
    gold = {(name, one.id): one.gold for name, cases in asked.items() for one in cases}
    found = sorted(
        (one for one in outcomes if one.ranker == ranker and one.evidence), key=lambda one: one.key
    )
    return Pairs(
        evidence=[one.evidence for one in found],
        relevant=[
            tuple(key in gold[one.set, one.query] for key in one.ranking[: len(one.evidence)])
            for one in found
        ],
        sets=[one.set for one in found],
        model=next((one.model for one in found), ""),
    )


def curve(given: Pairs, *, method: Method) -> Curve | None:
    """The curve over all memories; None when there is nothing to learn, no relevant one or no other."""
    return _curve(given, range(len(given.sets)), method)


def out_of_fold(given: Pairs, *, method: Method, seed: int) -> dict[str, Any] | None:
    """How well curves hold on questions that they were not fitted on.

    Args:
        given: at least one question.
        method: of the curves.
        seed: of the folds.

    Returns:
        As `calibrated.summary`; None when a fold has nothing to learn.
    """
    stated: list[float] = []
    true: list[bool] = []
    for fit_on, left_out in folds(given.sets, FOLDS, seed=seed):
        found = _curve(given, fit_on.tolist(), method)
        if found is None:
            return None
        for at in left_out:
            stated += [found.probability(value) for value in given.evidence[at]]
            true += given.relevant[at]
    return calibrated.summary(stated, true)


def _curve(given: Pairs, places: Sequence[int], method: Method) -> Curve | None:
    evidence = [value for at in places for value in given.evidence[at]]
    relevant = [true for at in places for true in given.relevant[at]]
    if not any(relevant) or all(relevant):
        return None
    return fit_curve(evidence, relevant, method=method).model_copy(update={"model": given.model})
