"""Abstention: whether a ranker's best evidence tells questions that a memory answers from the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from memsift_ops.evaluation.quality import AT_ONCE, Interval, times_drawn
from memsift_ops.metrics import BOOTSTRAP_SAMPLES

Floats = npt.NDArray[np.float64]


def auroc(answerable: Sequence[float], unanswerable: Sequence[float]) -> float:
    """The share of pairs in which the answerable question has more evidence, ties counted half.

    That is the area under the ROC curve and the Mann-Whitney U over the number of pairs (Hanley and McNeil
    1982): 1 tells all apart, 0.5 none.

    Args:
        answerable: the best evidence for each question that a memory answers, at least one.
        unanswerable: for each question that none answers, at least one.
    """
    return float(_wins(answerable, unanswerable).mean())


def auroc_interval(answerable: Sequence[float], unanswerable: Sequence[float], *, seed: int) -> Interval:
    """Its 95% interval by the percentile bootstrap, both kinds of questions resampled on their own.

    Args:
        answerable: see `auroc`.
        unanswerable: see `auroc`.
        seed: of the resampling; the same one gives the same interval.
    """
    random = np.random.default_rng(seed)
    wins = _wins(answerable, unanswerable)
    found = np.empty(BOOTSTRAP_SAMPLES)
    for start in range(0, BOOTSTRAP_SAMPLES, AT_ONCE):
        rows, columns = (times_drawn(random, count) for count in wins.shape)
        found[start : start + AT_ONCE] = ((rows @ wins) * columns).sum(axis=1) / wins.size
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)


def summary(answerable: Sequence[float], unanswerable: Sequence[float], *, seed: int) -> dict[str, Any]:
    """The numbers of a report; the area is None where one kind of question is missing."""
    known = bool(answerable) and bool(unanswerable)
    return {
        "auroc": auroc(answerable, unanswerable) if known else None,
        "ci95": list(auroc_interval(answerable, unanswerable, seed=seed)) if known else None,
        "n_answerable": len(answerable),
        "n_unanswerable": len(unanswerable),
    }


def _wins(answerable: Sequence[float], unanswerable: Sequence[float]) -> Floats:
    """Of each pair 1 when the answerable question has more, 0.5 for a tie; rows are the answerable ones."""
    differences = np.asarray(answerable)[:, None] - np.asarray(unanswerable)[None, :]
    wins: Floats = (np.sign(differences) + 1) / 2
    return wins
