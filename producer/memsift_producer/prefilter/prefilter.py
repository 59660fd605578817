"""The prefilter: drop near-duplicates, score what is left by three signals, keep the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from memsift_producer.prefilter.duplicates import repeats
from memsift_producer.prefilter.kinds import with_kind
from memsift_producer.prefilter.signals import Numbers, mix, signals
from memsift_producer.prefilter.tokens import keywords
from memsift_schemas.evidence import evidence
from memsift_schemas.memory import Memory
from memsift_schemas.order import best_first

if TYPE_CHECKING:
    from memsift_schemas.settings import ProducerSettings


@dataclass(frozen=True, slots=True)
class Weighing:
    """How the scores came about, for those who explain them.

    Attributes:
        memories: all that are no duplicates, in the order given.
        similarity: of each, as a z-score over them; NaN where it is missing.
        recency: likewise.
        keyword: likewise.
        scores: their weighted means.
        repeated: id of each duplicate -> id of the newer memory that stays.
    """

    memories: Sequence[Memory] = field(repr=False)
    similarity: Numbers
    recency: Numbers
    keyword: Numbers
    scores: Numbers
    repeated: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Prefiltered:
    """The first stage's ranking; also the fallback.

    Attributes:
        kept: what goes on to the model, best first, kinds filled in; at most `keep`.
        scores: their scores, same order, descending, finite; they order this ranking and mean no more.
        evidence: how much speaks for each, same order, comparable across questions.
        pruned: ids of all that was left out: low scores, best first, then duplicates in the order given.
        weighing: how it came about; None when there was nothing to rank.
    """

    kept: tuple[Memory, ...] = field(repr=False)
    scores: tuple[float, ...]
    evidence: tuple[float, ...]
    pruned: tuple[str, ...]
    weighing: Weighing | None = field(default=None, compare=False)


def prefilter(
    query: str,
    memories: Sequence[Memory],
    *,
    now: datetime,
    settings: ProducerSettings,
    keep: int,
    query_embedding: Sequence[float] | None = None,
) -> Prefiltered:
    """Rank memories for a query without a model.

    The score is the weighted mean of similarity, recency and BM25, each as z-scores over the memories that
    are no duplicates. Ties keep the order given. The same input gives the same output.

    Args:
        query: the user's question, in Chinese, English or both.
        memories: the candidates, ids unique; may be empty.
        now: when the question was asked; with a time zone.
        settings: the weights and the half-life.
        keep: how many go on to the worker.
        query_embedding: the query's vector, for memories that come with vectors rather than similarities.

    Raises:
        InvalidInput: `query_embedding` is empty or not finite.
    """
    if not memories:
        return Prefiltered((), (), (), ())
    repeated = repeats(memories)
    rest = [memory for place, memory in enumerate(memories) if place not in repeated]
    table = signals(
        query, rest, now=now, half_life_days=settings.half_life_days, query_embedding=query_embedding
    )
    similarity, recency, keyword = table
    scores = mix(table, [settings.weight_vector, settings.weight_recency, settings.weight_keyword])
    order = best_first(scores)
    best, others = order[:keep], order[keep:]
    found = evidence(scores, keywords(query).counts, [keywords(memory.text).counts.keys() for memory in rest])
    return Prefiltered(
        kept=tuple(with_kind(rest[place]) for place in best),
        scores=tuple(scores[place] for place in best),
        evidence=tuple(found[place] for place in best),
        pruned=(*(rest[place].id for place in others), *(memories[place].id for place in sorted(repeated))),
        weighing=Weighing(
            memories=rest,
            similarity=similarity,
            recency=recency,
            keyword=keyword,
            scores=scores,
            repeated={memories[gone].id: memories[stays].id for gone, stays in repeated.items()},
        ),
    )
