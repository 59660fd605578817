"""What the prefilter saw in each memory, for people who ask why a ranking is as it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memsift_producer.prefilter.duplicates import duplicates
from memsift_producer.prefilter.kinds import with_kind
from memsift_producer.prefilter.signals import (
    keyword_scores,
    normalised,
    recency,
    shares,
    similarities,
)
from memsift_schemas.memory import Kind, Memory

if TYPE_CHECKING:
    from memsift_schemas.settings import ProducerSettings


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal of one memory.

    Attributes:
        value: as it was found: a similarity, a recency from 0 to 1, a BM25 score.
        part: what it adds to the prefilter's score, or takes from it; the parts' sum is the score.
    """

    value: float
    part: float


@dataclass(frozen=True, slots=True)
class Seen:
    """One memory.

    Attributes:
        id: the memory's.
        kind: as given, or guessed.
        duplicate: a newer memory says the same, so that it was left out before anything was compared.
        signals: `vector`, `recency` and `keyword`; None where the memory has none. Empty for a duplicate.
    """

    id: str
    kind: Kind
    duplicate: bool
    signals: dict[str, Signal | None]


def weights(settings: ProducerSettings) -> dict[str, float]:
    """How much each signal counts."""
    return {
        "vector": settings.weight_vector,
        "recency": settings.weight_recency,
        "keyword": settings.weight_keyword,
    }


def explain(
    query: str,
    memories: Sequence[Memory],
    *,
    now: datetime,
    settings: ProducerSettings,
    query_embedding: Sequence[float] | None = None,
) -> list[Seen]:
    """What `prefilter` sees with the same arguments, in the order given.

    It does the work of `prefilter` once more, so it is nothing for every call.

    Raises:
        InvalidInput: `query_embedding` is empty or not finite.
    """
    repeated = duplicates(memories) if memories else frozenset()
    rest = [memory for place, memory in enumerate(memories) if place not in repeated]
    found = (
        similarities(rest, query_embedding),
        recency(rest, now, settings.half_life_days),
        keyword_scores(query, rest),
    )
    told = weights(settings)
    parts = shares([normalised(values) for values in found], list(told.values()))
    signals = iter(
        {
            name: _signal(values[place], parts[at][place])
            for at, (name, values) in enumerate(zip(told, found, strict=True))
        }
        for place in range(len(rest))
    )
    return [
        Seen(memory.id, with_kind(memory).kind, place in repeated, {} if place in repeated else next(signals))
        for place, memory in enumerate(memories)
    ]


def _signal(value: float, part: float) -> Signal | None:
    return Signal(value, part) if math.isfinite(value) else None
