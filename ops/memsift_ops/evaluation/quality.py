"""How good rankings are, with bootstrap intervals; the formulas are those of `memsift_ops.metrics`.

Of the libraries for this, ranx compiles with numba and brings pandas and scipy, and ir-measures brings a C
build of trec_eval, both for six formulas of a line each; so these are our own, checked against cases worked
out by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt

from memsift_ops import metrics
from memsift_ops.metrics import BOOTSTRAP_SAMPLES

AT_ONCE = 500

Metric = Callable[[Sequence[str], frozenset[str]], float]
Interval = tuple[float, float]


def ndcg_at(k: int, ranking: Sequence[str], gold: Collection[str]) -> float:
    """Gain of the first k, discounted by log2(place + 1), as a part of the best that is possible.

    Relevance is binary; the best possible has min(k, number of relevant ones) on top, also those that the
    recall missed (Järvelin and Kekäläinen 2002).
    """
    gains = [1 / math.log2(place + 1) for place, one in enumerate(ranking[:k], start=1) if one in gold]
    ideal = math.fsum(1 / math.log2(place + 1) for place in range(1, min(k, len(gold)) + 1))
    return math.fsum(gains) / ideal


METRICS: dict[str, Metric] = {
    "p_at_1": lambda ranking, gold: metrics.precision_at(1, ranking, gold),
    "p_at_3": lambda ranking, gold: metrics.precision_at(3, ranking, gold),
    "hit_at_3": lambda ranking, gold: metrics.hit_at(3, ranking, gold),
    "recall_at_5": lambda ranking, gold: metrics.recall_at(5, ranking, gold),
    "mrr": metrics.reciprocal_rank,
    "ndcg_at_10": lambda ranking, gold: ndcg_at(10, ranking, gold),
}


def oracle_p_at_3(candidates: Collection[str], gold: frozenset[str]) -> float:
    """P@3 of the best possible order of what recall brought."""
    return min(3, len(gold.intersection(candidates))) / 3


def of_ranking(ranking: Sequence[str], gold: frozenset[str]) -> list[float]:
    """Every metric, in the order of `METRICS`."""
    return [metric(ranking, gold) for metric in METRICS.values()]


def intervals(values: npt.NDArray[np.float64], *, seed: int) -> list[Interval]:
    """95% intervals of the means of columns by the percentile bootstrap (Efron 1979).

    All columns are resampled together, so that differences between them stay paired.

    Args:
        values: shape (queries, columns), at least one query.
        seed: of the resampling; the same one gives the same intervals.

    Returns:
        Lower and upper end for each column.
    """
    random = np.random.default_rng(seed)
    count = len(values)
    means = np.empty((BOOTSTRAP_SAMPLES, values.shape[1]))
    for start in range(0, BOOTSTRAP_SAMPLES, AT_ONCE):
        means[start : start + AT_ONCE] = times_drawn(random, count) @ values / count
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return [(float(a), float(b)) for a, b in zip(low, high, strict=True)]


def times_drawn(random: np.random.Generator, count: int) -> npt.NDArray[np.float64]:
    """How often each of `count` is in each of `AT_ONCE` samples with replacement; shape (AT_ONCE, count)."""
    drawn = random.integers(0, count, (AT_ONCE, count)) + np.arange(AT_ONCE)[:, None] * count
    return np.bincount(drawn.ravel(), minlength=AT_ONCE * count).reshape(AT_ONCE, count).astype(np.float64)
