"""Fusing the model's scores with the prefilter's: a weighted sum of z-scores."""

from __future__ import annotations

from collections.abc import Sequence

from memsift_schemas.evidence import standardise
from memsift_workers.rankers.base import Parts


def fuse(
    model: Sequence[float], prior: Sequence[float], weight: float
) -> tuple[tuple[float, ...], Parts | None]:
    """`z(prior) + weight * z(model)` per candidate, and what each is made of.

    Args:
        model: the model's scores.
        prior: the prefilter's scores; empty leaves the model's alone.
        weight: of the model beside the prefilter's 1.
    """
    scaled = standardise(model)
    if not prior:
        return tuple(scaled), None
    before = standardise(prior)
    values = [p + weight * m for p, m in zip(before, scaled, strict=True)]
    return tuple(values), Parts(weight, dict(enumerate(before)), dict(enumerate(scaled)))
