"""How much speaks for each memory, comparable across questions: what abstention is decided by.

A ranking's scores order one job's candidates: the best of fifty that answer nothing is as far above the mean
as the best of fifty that do. So what counts beside the place in the ranking is how many of the question's
words a memory holds at all. Raw similarities would be a third witness, but their scale is the embedding
model's.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

from memsift_schemas.words import CACHED_TEXTS, fold, terms

# A compromise, measured with `jev` at 0, 1, 2, 4 on the sets that are not LoCoMo's. AUROC of the first
# memory's evidence, questions against the same ones over another user's memories, mean of four sets: .819,
# .882, .907, .923. Brier score of curves fitted on five sets for the sixth, mean of 6: .0253, .0252, .0258,
# .0271 (.0371 for always saying the base rate). On LoCoMo, held out: .740, .846, .906, .956 and .0178, .0182,
# .0190, .0222 (.0209). Weighing the terms by their idf moves the former by .005, the latter by .0001.
COVERAGE_WEIGHT = 2.0


def evidence(
    scores: Sequence[float], asked: Collection[str], held: Sequence[AbstractSet[str]]
) -> tuple[float, ...]:
    """z-score over the candidates plus `COVERAGE_WEIGHT` times the share of the question's terms held.

    Args:
        scores: finite, one per candidate.
        asked: the distinct terms of the question.
        held: the terms of each candidate, same order.

    Returns:
        One finite number per candidate, to six places. A question without terms is covered by none.
    """
    most = max(map(abs, scores), default=0.0) or 1.0
    scaled = [score / most for score in scores]  # squares cannot overflow
    terms, wanted = len(asked) or 1, frozenset(asked)
    return tuple(
        [
            round(place + COVERAGE_WEIGHT * len(words & wanted) / terms, 6)
            for place, words in zip(standardise(scaled), held, strict=True)
        ]
    )


@lru_cache(CACHED_TEXTS)
def vocabulary(text: str) -> frozenset[str]:
    """The distinct terms of a text, for those that keep none: see `words.terms`."""
    return frozenset(terms(fold(text)))


def standardise(values: Sequence[float]) -> list[float]:
    """z-scores: mean 0, population standard deviation 1; all 0 when the values do not differ."""
    if not values:
        return []
    mean = math.fsum(values) / len(values)
    centred = [value - mean for value in values]
    spread = math.hypot(*centred) / math.sqrt(len(values))
    # Below this the differences are rounding noise of the sum, not information.
    if spread <= 1e-12 * max(1.0, abs(mean)):
        return [0.0] * len(values)
    return [value / spread for value in centred]
