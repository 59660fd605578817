"""Scores from 0 to 1 for clients that read nothing else: their order is the ranking's, always.

Where a calibration is known, a score is the probability of relevance. Elsewhere it is the logistic function
of the evidence, which compares across questions and is no probability. Both are made to fall along the
ranking.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from memsift_schemas.result import Ranked

# Evidence is a z-score over the candidates plus twice the share of the question's words that a memory holds.
# At this value a score is .5: an average candidate with all of the words, or one far ahead (two standard
# deviations) with none. A convention, nothing was fitted.
MIDDLE = 2.0
# How much of a score tells the place alone. It keeps scores apart where relevance ties, and what no ranker
# saw in its order, below this value.
BY_PLACE = 1e-3


def relevance_scores(ranking: Sequence[Ranked], count: int) -> list[float]:
    """Strictly falling scores, each above 0 and below 1.

    Args:
        ranking: the places that were ranked, best first.
        count: how many there are with those that follow behind; at least as many.

    Returns:
        `count` numbers.
    """
    falling = pooled([_likely(place) for place in ranking]) + [0.0] * (count - len(ranking))
    return [
        (1 - BY_PLACE) * value + BY_PLACE * (count - at) / (count + 1) for at, value in enumerate(falling)
    ]


def logit(score: float) -> float:
    """The score before the logistic function, any size; `score` is above 0 and below 1."""
    return math.log(score) - math.log1p(-score)


def pooled(values: Sequence[float]) -> list[float]:
    """The nearest sequence, by squares, that never rises: pool adjacent violators (Barlow et al. 1972)."""
    blocks: list[tuple[float, int]] = []  # mean and length of each
    for value in values:
        mean, length = value, 1
        while blocks and blocks[-1][0] < mean:
            before, many = blocks.pop()
            mean = (before * many + mean * length) / (many + length)
            length += many
        blocks.append((mean, length))
    return [mean for mean, length in blocks for _ in range(length)]


def _likely(place: Ranked) -> float:
    if place.relevance is not None:
        return place.relevance
    # Workers of older releases send no evidence: nothing is known but the place.
    evidence = MIDDLE if place.evidence is None else place.evidence
    return 0.5 * (1 + math.tanh((evidence - MIDDLE) / 2))
