"""How good a ranking is, as in the information-retrieval literature (Manning et al. 2008, ch. 8).

`ranking` is a list of ids, best first; `gold` the ids that are relevant, never empty. A gold id that the
ranking lacks counts as missed.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

BOOTSTRAP_SAMPLES = 10_000


def hit_at(k: int, ranking: Sequence[str], gold: Collection[str]) -> float:
    """1.0 when any of the first k is relevant."""
    return float(any(place in gold for place in ranking[:k]))


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str]) -> float:
    """1 / the place of the first relevant one, 0.0 when there is none; its mean is the MRR."""
    return next((1 / place for place, found in enumerate(ranking, start=1) if found in gold), 0.0)


def recall_at(k: int, ranking: Sequence[str], gold: Collection[str]) -> float:
    """Which part of what is relevant is among the first k."""
    return sum(place in gold for place in ranking[:k]) / len(gold)


def precision_at(k: int, ranking: Sequence[str], gold: Collection[str]) -> float:
    """Which part of the first k places holds something relevant."""
    return sum(place in gold for place in ranking[:k]) / k


def bootstrap_interval(differences: Sequence[float], *, seed: int = 1) -> tuple[float, float]:
    """The 95% interval of the mean of paired differences, by the percentile bootstrap (Efron 1979).

    Args:
        differences: one per query, such as the model's reciprocal rank minus the prefilter's.
        seed: of the resampling; the same one gives the same interval.

    Returns:
        Lower and upper end. When it holds 0, the difference may be noise.
    """
    values = np.asarray(differences, dtype=float)
    random = np.random.default_rng(seed)
    means = [values[random.integers(0, len(values), len(values))].mean() for _ in range(BOOTSTRAP_SAMPLES)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def wilson_interval(hits: int, of: int) -> tuple[float, float]:
    """The 95% interval of a share (Wilson 1927); right also for few cases, and for shares near 0 and 1.

    Args:
        hits: how many.
        of: of how many, above 0.
    """
    z, share = 1.959964, hits / of
    middle = share + z * z / (2 * of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    scale = 1 + z * z / of
    return max((middle - half) / scale, 0.0), min((middle + half) / scale, 1.0)
