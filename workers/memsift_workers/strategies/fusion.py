"""Fusing the model's scores with the prefilter's: a weighted sum of z-scores."""

from __future__ import annotations

import math
from collections.abc import Sequence


def standardise(values: Sequence[float]) -> list[float]:
    """z-scores: mean 0, population standard deviation 1; all 0 when the values do not differ."""
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    # Below this the differences are rounding noise of the sum, not information.
    if spread <= 1e-12 * max(1.0, abs(mean)):
        return [0.0] * len(values)
    return [(value - mean) / spread for value in values]


def fuse(model: Sequence[float], prior: Sequence[float], weight: float) -> tuple[float, ...]:
    """`z(prior) + weight * z(model)` per candidate.

    Args:
        model: the model's scores.
        prior: the prefilter's scores; empty leaves the model's alone.
        weight: of the model beside the prefilter's 1.
    """
    scaled = standardise(model)
    if not prior:
        return tuple(scaled)
    return tuple(p + weight * m for p, m in zip(standardise(prior), scaled, strict=True))
