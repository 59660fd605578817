"""The order of a ranking."""

from __future__ import annotations

from collections.abc import Sequence


def best_first(scores: Sequence[float]) -> list[int]:
    """Places of the scores, the highest first; equal ones stay in the order given."""
    return sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
