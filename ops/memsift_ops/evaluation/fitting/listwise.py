"""Fits the weights of a linear ranker to labelled questions: conditional logit with a pull to the defaults.

The loss of a question is ListNet's (Cao et al. 2007): the cross-entropy between the softmax of the scores
and equal shares for the relevant candidates; with one of those it is McFadden's conditional logit (1974).
Both the loss and the quadratic pull are convex, so that Newton's method ends at the one optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_STEPS = 50
_HALVINGS = 30
# Newton's decrement below which a step gains nothing worth having.
_CONVERGED = 1e-9
# Enough for Newton's equations to have a solution where a feature tells nothing.
_RIDGE = 1e-9
_LEAST_SCALE = 1e-3


class Lists(NamedTuple):
    """Questions with their candidates, padded to one length.

    Attributes:
        features: shape (questions, candidates, features), 0 where there is no candidate.
        present: shape (questions, candidates), whether there is one.
        target: likewise, each question's share of the relevant ones; sums to 1 over the candidates.
        weight: shape (questions,), what each question counts; its mean is 1.
    """

    features: Floats
    present: npt.NDArray[np.bool_]
    target: Floats
    weight: Floats

    def take(self, questions: npt.NDArray[np.intp]) -> Lists:
        """Only these questions, their weights scaled to mean 1."""
        weight = self.weight[questions]
        return Lists(
            self.features[questions],
            self.present[questions],
            self.target[questions],
            weight / weight.mean(),
        )


def lists(tables: Sequence[Floats], relevant: Sequence[npt.NDArray[np.bool_]], weight: Floats) -> Lists:
    """Pad questions to one length.

    Args:
        tables: for each question the features of its candidates, shape (candidates, features).
        relevant: which of these candidates are, at least one.
        weight: of each question.
    """
    longest = max(map(len, tables))
    features = np.zeros((len(tables), longest, tables[0].shape[1]))
    present = np.zeros((len(tables), longest), dtype=np.bool_)
    target = np.zeros((len(tables), longest))
    for at, (table, true) in enumerate(zip(tables, relevant, strict=True)):
        features[at, : len(table)] = table
        present[at, : len(table)] = True
        target[at, : len(table)] = true / true.sum()
    return Lists(features, present, target, weight / weight.mean())


def loss(given: Lists, weights: Floats) -> float:
    """Mean cross-entropy of the questions, nats."""
    return float(-(given.weight * (given.target * _log_softmax(given, weights)).sum(axis=1)).mean())


def fit(given: Lists, defaults: Floats, *, pull: float, lower: float = -np.inf) -> Floats:
    """The weights of least loss plus `pull` times the squared distance to the defaults.

    Multiplying all weights by a number changes the softmax and no ranking, so the defaults first take the
    scale that suits the questions best, and the result is brought back to their length at the end.

    Args:
        given: the questions.
        defaults: not all 0.
        pull: above 0.
        lower: the least that a weight may be, -inf or 0.

    Returns:
        One weight for each feature, as long as the defaults; the defaults where the optimum is 0.
    """
    along = given._replace(features=(given.features @ defaults)[..., None])
    scale = _minimise(along, np.ones(1), np.ones(1), pull=0.0, lower=_LEAST_SCALE)[0]
    centre = defaults * scale
    found = _minimise(given, centre, centre, pull=pull, lower=lower)
    length = np.linalg.norm(found)
    return defaults.copy() if length == 0 else found * (np.linalg.norm(defaults) / length)


def _minimise(given: Lists, start: Floats, centre: Floats, *, pull: float, lower: float) -> Floats:
    """Projected Newton (Bertsekas 1982): coordinates at their bound that want to go below it stay there."""
    at = start
    value = loss(given, at) + pull * float(((at - centre) ** 2).sum())
    for _ in range(_STEPS):
        gradient, curvature = _derivatives(given, at)
        gradient = gradient + 2 * pull * (at - centre)
        curvature = curvature + (2 * pull + _RIDGE) * np.eye(len(at))
        free = ~((at <= lower) & (gradient > 0))
        step = np.zeros_like(at)
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        if gradient @ step < _CONVERGED:
            break
        for halving in range(_HALVINGS):
            tried = np.maximum(at - step / 2**halving, lower)
            tried_value = loss(given, tried) + pull * float(((tried - centre) ** 2).sum())
            if tried_value < value:
                break
        else:
            break
        at, value = tried, tried_value
    return at


def _derivatives(given: Lists, weights: Floats) -> tuple[Floats, Floats]:
    """Gradient and Hessian of `loss`."""
    share = np.where(given.present, np.exp(_log_softmax(given, weights)), 0.0)
    counts = given.weight / len(given.weight)
    gradient = np.einsum("qc,qcf->f", counts[:, None] * (share - given.target), given.features)
    mean = np.einsum("qc,qcf->qf", share, given.features)
    width = given.features.shape[-1]
    flat = given.features.reshape(-1, width)
    curvature = (flat * (counts[:, None] * share).reshape(-1, 1)).T @ flat - (mean * counts[:, None]).T @ mean
    return gradient, curvature


def _log_softmax(given: Lists, weights: Floats) -> Floats:
    """0 where there is no candidate."""
    scores = np.where(given.present, given.features @ weights, -np.inf)
    scores = scores - scores.max(axis=1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    found: Floats = np.where(given.present, logs, 0.0)
    return found
