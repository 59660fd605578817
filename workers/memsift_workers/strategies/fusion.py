"""Fusing the model's scores with the prefilter's: a weighted sum of z-scores."""

from __future__ import annotations

from collections.abc import Sequence

from memsift_schemas.evidence import standardise


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
