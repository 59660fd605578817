"""From outcomes to the numbers of a report: one JSON-ready object for each set and ranker."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from memsift_ops.datasets import Case, sibling
from memsift_ops.evaluation import abstention, calibrated
from memsift_ops.evaluation.outcome import CALLS, PREFILTER, Key, Outcome
from memsift_ops.evaluation.quality import METRICS, intervals, of_ranking, oracle_p_at_3

PERCENTILES = {"p50": 50, "p95": 95, "p99": 99}
# A question and what a ranker made of it.
Answered = tuple[Case, Outcome]


def summarise(
    sets: Mapping[str, Sequence[Case]], rankers: Sequence[str], outcomes: Sequence[Outcome], *, seed: int
) -> dict[str, dict[str, Any]]:
    """The numbers of every set and ranker.

    Args:
        sets: the questions of each set; quality is told over those that a memory answers.
        rankers: in the order of the report, the prefilter among them.
        outcomes: of every question and ranker, in any order.
        seed: of the bootstrap.

    Returns:
        Set -> ranker -> numbers; see docs/evaluation.md. What cannot be told is None, such as a metric of a
        ranker that answered nothing.
    """
    by_key = {outcome.key: outcome for outcome in outcomes}
    return {
        name: {
            ranker: {
                **_of_ranker(name, ranker, asked, by_key, seed=seed),
                "abstention": _abstention(name, ranker, sets, by_key, seed=seed),
            }
            for ranker in rankers
        }
        for name, asked in sets.items()
    }


def _of_ranker(
    name: str, ranker: str, asked: Sequence[Case], by_key: Mapping[Key, Outcome], *, seed: int
) -> dict[str, Any]:
    every = [(one, by_key[name, ranker, one.id]) for one in asked]
    answered = [(one, outcome) for one, outcome in every if outcome.cause is None]
    labelled = [(one, outcome) for one, outcome in answered if one.gold]
    before = [(one, by_key[name, PREFILTER, one.id]) for one, _ in labelled]
    causes = Counter(outcome.cause for _, outcome in every if outcome.cause is not None)
    found = [outcome for _, outcome in answered]
    cpu = [outcome.cpu_ms for _, outcome in every if outcome.cpu_ms is not None]
    return {
        "n": len(labelled),
        "fell_back": {"n": causes.total(), "causes": dict(sorted(causes.items()))},
        **_quality(labelled, before, against=ranker != PREFILTER, seed=seed),
        "by_language": _groups(labelled, lambda one: one.lang, seed=seed),
        "by_category": _groups(labelled, lambda one: one.category, seed=seed),
        "latency_ms": _percentiles([outcome.total_ms for outcome in found]),
        "rank_ms": _percentiles([outcome.rank_ms for outcome in found if outcome.rank_ms is not None]),
        "cpu_ms": statistics.fmean(cpu) if len(cpu) == len(every) else None,
        "cost_per_million": statistics.fmean(one.cost_usd for one in found) * CALLS if found else None,
        "calibration": _calibration(answered),
    }


def _abstention(
    name: str,
    ranker: str,
    sets: Mapping[str, Sequence[Case]],
    by_key: Mapping[Key, Outcome],
    *,
    seed: int,
) -> dict[str, Any]:
    """Of the set's own questions; where it has none that a memory answers, against those of its sibling."""

    def evidence(name: str, *, answerable: bool) -> list[float]:
        found = [by_key[name, ranker, one.id] for one in sets[name] if bool(one.gold) == answerable]
        return [one.best_evidence for one in found if one.best_evidence is not None]

    other = None if any(one.gold for one in sets[name]) else sibling(name, sets)
    return abstention.summary(
        evidence(other or name, answerable=True), evidence(name, answerable=False), seed=seed
    )


def _calibration(answered: Sequence[Answered]) -> dict[str, Any] | None:
    """Over all memories that the ranker saw; what the prefilter had pruned has no probability."""
    pairs = [
        (probability, key in one.gold)
        for one, outcome in answered
        for key, probability in zip(outcome.ranking, outcome.relevance, strict=False)
    ]
    return calibrated.summary([probability for probability, _ in pairs], [true for _, true in pairs])


def _quality(
    answered: Sequence[Answered], before: Sequence[Answered], *, against: bool, seed: int
) -> dict[str, Any]:
    """Means and intervals, and the paired difference to the prefilter on the same questions."""
    none = dict.fromkeys(METRICS)
    if not answered:
        return {**none, "p_at_3_of_oracle": None, "ci95": none, "against_prefilter": None}
    ours = _values(answered)
    gained = ours - _values(before)
    ends = intervals(np.hstack([ours, gained]), seed=seed)
    oracle = statistics.fmean(oracle_p_at_3(_candidates(one), one.gold) for one, _ in answered)
    means = _named(ours.mean(axis=0).tolist())
    differences = {
        metric: {"difference": difference, "ci95": list(ci)}
        for metric, difference, ci in zip(
            METRICS, gained.mean(axis=0).tolist(), ends[len(METRICS) :], strict=True
        )
    }
    return {
        **means,
        "p_at_3_of_oracle": means["p_at_3"] / oracle if oracle else None,
        "ci95": _named([list(ci) for ci in ends[: len(METRICS)]]),
        "against_prefilter": differences if against else None,
    }


def _groups(answered: Sequence[Answered], label: Callable[[Case], str], *, seed: int) -> dict[str, Any]:
    """The metrics of each language or category that the set names."""
    found = {}
    for group in sorted({label(one) for one, _ in answered} - {""}):
        values = _values([(one, outcome) for one, outcome in answered if label(one) == group])
        found[group] = {
            "n": len(values),
            **_named(values.mean(axis=0).tolist()),
            "ci95": _named([list(ci) for ci in intervals(values, seed=seed)]),
        }
    return found


def _values(answered: Sequence[Answered]) -> npt.NDArray[np.float64]:
    """Every metric of every question, shape (questions, metrics)."""
    return np.array([of_ranking(outcome.ranking, one.gold) for one, outcome in answered])


def _named(values: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(METRICS, values, strict=True))


def _percentiles(values: Sequence[float]) -> dict[str, float | None]:
    if not values:
        return dict.fromkeys(PERCENTILES)
    return {name: float(np.percentile(values, q)) for name, q in PERCENTILES.items()}


def _candidates(one: Case) -> list[str]:
    return [memory.id for memory in one.memories]
