"""Learns a ranker's weights, and tells on questions left out of the fit whether that helped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memsift_ops.evaluation.fitting import listwise
from memsift_ops.evaluation.fitting.folds import FOLDS, Places, folds
from memsift_ops.evaluation.fitting.linear import Floats, Linear, Table
from memsift_ops.evaluation.quality import intervals

# From "nearly free" to "the defaults", for a mean loss in nats and weights around 1.
PULLS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
# How often `learn` fits: in each outer fold and once at the end every pull in every inner fold, and the best.
FITS = (FOLDS + 1) * (len(PULLS) * FOLDS + 1)
LEAST_QUESTIONS = 2 * FOLDS
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Gain:
    """MRR on questions that the weights were not fitted on.

    Attributes:
        default: with the default weights.
        fitted: with the fitted ones.
        difference: the mean of the paired differences.
        ci95: its bootstrap interval.
    """

    default: float
    fitted: float
    difference: float
    ci95: tuple[float, float]

    def as_json(self) -> dict[str, Any]:
        """The same, JSON-ready."""
        return {
            "default": self.default,
            "fitted": self.fitted,
            "difference": self.difference,
            "ci95": list(self.ci95),
        }


@dataclass(frozen=True, slots=True)
class Learnt:
    """Fitted weights and what they are worth.

    Attributes:
        weights: each setting's.
        pull: the chosen strength of the pull to the defaults.
        questions: how many were fitted on; those without any relevant candidate teach nothing.
        left_out: how many taught nothing.
        overall: the gain over all questions, each set counting the same.
        sets: that of each set.
    """

    weights: dict[str, float]
    pull: float
    questions: int
    left_out: int
    overall: Gain
    sets: dict[str, Gain]

    @property
    def helped(self) -> bool:
        """Whether fitting gained MRR beyond noise on questions left out of it."""
        return self.overall.ci95[0] > 0


def learn(
    linear: Linear, tables: Mapping[str, Sequence[Table]], *, seed: int, fitted: Callable[[], None]
) -> Learnt:
    """Fit on every question, and measure by cross-validation.

    The pull is chosen by the MRR on questions left out. For the gain that happens again inside each fold
    (nested cross-validation), so that no question has a say in the weights that it is measured with.

    Args:
        linear: what to fit.
        tables: the questions of each set.
        seed: of folds and bootstrap; the same one gives the same weights.
        fitted: called after each of `FITS` fits.

    Raises:
        ValueError: fewer than `LEAST_QUESTIONS` have a relevant candidate.
    """
    every = [(name, table) for name, asked in tables.items() for table in asked]
    telling = [(name, table) for name, table in every if table.relevant.any()]
    if len(telling) < LEAST_QUESTIONS:
        raise ValueError(f"{len(telling)} questions have a relevant candidate, {LEAST_QUESTIONS} are needed")
    names, asked = [name for name, _ in telling], [table for _, table in telling]
    balance = _balance(names)
    fitter = _Fitter(linear, asked, names, balance, seed=seed, fitted=fitted)
    ranks = np.empty((len(asked), 2))
    for fit_on, left_out in folds(names, FOLDS, seed=seed):
        weights, _ = fitter.best(fit_on)
        ranks[left_out, 0] = fitter.ranks(left_out, linear.defaults)
        ranks[left_out, 1] = fitter.ranks(left_out, weights)
    weights, pull = fitter.best(np.arange(len(asked)))
    where = np.array(names)
    return Learnt(
        weights=dict(zip(linear.settings, np.round(weights, _DIGITS).tolist(), strict=True)),
        pull=pull,
        questions=len(asked),
        left_out=len(every) - len(asked),
        overall=_gain(ranks, balance, seed=seed),
        sets={
            name: _gain(ranks[where == name], balance[where == name], seed=seed)
            for name in dict.fromkeys(names)
        },
    )


class _Fitter:
    """Fits on some of the questions, with the pull that ranks best what is left out in turn."""

    def __init__(
        self,
        linear: Linear,
        asked: Sequence[Table],
        names: Sequence[str],
        balance: Floats,
        *,
        seed: int,
        fitted: Callable[[], None],
    ) -> None:
        self._linear, self._asked, self._names, self._balance = linear, asked, names, balance
        self._seed, self._fitted = seed, fitted
        self._lists = listwise.lists(
            [np.nan_to_num(table.features) for table in asked], [table.relevant for table in asked], balance
        )

    def best(self, places: Places) -> tuple[Floats, float]:
        """Weights and pull from these questions alone."""
        names = [self._names[at] for at in places]
        gained = np.zeros(len(PULLS))
        for fit_on, left_out in folds(names, FOLDS, seed=self._seed):
            for at, pull in enumerate(PULLS):
                weights = self._fit(places[fit_on], pull)
                held = places[left_out]
                gained[at] += (self._balance[held] * self.ranks(held, weights)).sum()
        # The strongest of equals.
        pull = PULLS[len(PULLS) - 1 - int(gained[::-1].argmax())]
        return self._fit(places, pull), pull

    def ranks(self, places: Places, weights: Floats) -> Floats:
        """The reciprocal rank of each of these questions."""
        return np.array([self._linear.reciprocal_rank(self._asked[at], weights) for at in places])

    def _fit(self, places: Places, pull: float) -> Floats:
        given = self._lists.take(places)
        weights = listwise.fit(given, self._linear.defaults, pull=pull, lower=self._linear.lower)
        self._fitted()
        return weights


def _balance(names: Sequence[str]) -> Floats:
    """Weights of the questions with which each set counts the same, of mean 1."""
    counts = {name: names.count(name) for name in names}
    return np.array([len(names) / len(counts) / counts[name] for name in names])


def _gain(ranks: Floats, balance: Floats, *, seed: int) -> Gain:
    """Weighted means of both columns, and of their difference with its interval."""
    weighted = ranks * (balance / balance.mean())[:, None]
    gained = (weighted[:, 1] - weighted[:, 0])[:, None]
    (ci,) = intervals(gained, seed=seed)
    default, fitted = weighted.mean(axis=0).tolist()
    return Gain(default, fitted, float(gained.mean()), ci)
