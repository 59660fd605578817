"""Rankers whose score is a weighted sum: what is fitted, and how the fitted weights rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from memsift_ops import metrics
from memsift_ops.datasets import Case

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Table:
    """The candidates of a question as numbers.

    Attributes:
        ids: of the candidates that the ranker sees, in the order in which ties stay.
        features: one row for each of them; NaN where a signal is missing.
        pruned: ids of those that it does not see.
        gold: ids of what is relevant.
    """

    ids: tuple[str, ...]
    features: Floats = field(repr=False)
    pruned: tuple[str, ...]
    gold: frozenset[str]

    @property
    def relevant(self) -> npt.NDArray[np.bool_]:
        """Which of the candidates are."""
        return np.array([key in self.gold for key in self.ids], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Linear:
    """A ranker whose score is a weighted sum.

    Attributes:
        name: what `--fit` calls it.
        settings: the setting of each weight.
        defaults: what these are when nothing is set.
        lower: the least that a weight may be.
        table: the features of a question.
        scores: of the candidates, from features and weights.
    """

    name: str
    settings: tuple[str, ...]
    defaults: Floats
    lower: float
    table: Callable[[Case], Table]
    scores: Callable[[Floats, Floats], Floats]

    def reciprocal_rank(self, table: Table, weights: Floats) -> float:
        """Of the first relevant candidate, what the ranker does not see coming last."""
        order = np.argsort(-self.scores(table.features, weights), kind="stable").tolist()
        return metrics.reciprocal_rank([*(table.ids[at] for at in order), *table.pruned], table.gold)
