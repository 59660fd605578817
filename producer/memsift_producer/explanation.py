"""Why each memory came into the prompt or stayed out, told of a ranking that was just made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field, FiniteFloat

from memsift_producer.prefilter import Weighing, prefilter
from memsift_producer.prefilter.kinds import with_kind
from memsift_producer.reranking import Reranking
from memsift_schemas.memory import Id, Kind, Memory, Model
from memsift_schemas.order import best_first
from memsift_schemas.result import Ranked, Source
from memsift_schemas.settings import ProducerSettings


class Fate(StrEnum):
    """What became of a memory."""

    SELECTED = "selected"  # it belongs into the prompt
    OUTRANKED = "outranked"  # others stand before it, and the prompt is full
    IRRELEVANT = "irrelevant"  # its relevance is known, and below what was asked for
    PRUNED = "pruned"  # the prefilter put it too far behind for the ranker to read it
    DUPLICATE = "duplicate"  # another memory, as new or newer, says the same


class Signals(Model):
    """What the prefilter mixes: z-scores over the memories that are no duplicates; None where unknown."""

    similarity: FiniteFloat | None = Field(description="The vector store's similarity, or the cosine.")
    recency: FiniteFloat | None = Field(description="How new it is.")
    keywords: FiniteFloat | None = Field(description="How many of the question's words it holds (BM25).")


class Explained(Model):
    """One memory's way through a ranking."""

    id: Id = Field(description="The memory's.")
    fate: Fate = Field(
        description="`selected`: it belongs into the prompt. It stays out where it is `outranked` by better "
        "ones, `irrelevant` by a calibration, `pruned` by the prefilter before the model, or a `duplicate`."
    )
    why: str = Field(description="The same in a sentence, without the memory's text.")
    place: int | None = Field(None, description="In the final ranking, from 1; null for what was not ranked.")
    score: FiniteFloat | None = Field(
        None, description="The ranker's, or the prefilter's where that answered; orders this ranking alone."
    )
    evidence: FiniteFloat | None = Field(
        None, description="How much speaks for it, comparable across questions of one ranker."
    )
    relevance: FiniteFloat | None = Field(
        None, description="The probability that it helps; null without a calibration."
    )
    prefilter_place: int | None = Field(None, description="Among those that are no duplicates, from 1.")
    prefilter_score: FiniteFloat | None = Field(None, description="The weighted mean of the signals.")
    signals: Signals | None = Field(None, description="What that was made of; null for a duplicate.")
    kind: Kind = Field(description="As given, or guessed from the text.")
    duplicate_of: Id | None = Field(None, description="The memory that says the same and stayed.")


def explain(
    query: str,
    memories: Sequence[Memory],
    reranking: Reranking,
    *,
    now: datetime,
    settings: ProducerSettings,
    query_embedding: Sequence[float] | None = None,
) -> list[Explained]:
    """Tell of each memory why it came in or stayed out, best first.

    The prefilter's part is computed anew, which gives what it gave: pass what `rerank` was given.

    Args:
        query: the question.
        memories: those that were ranked; at least one.
        reranking: what came of it.
        now: when it was asked.
        settings: of the reranker.
        query_embedding: the question's vector.
    """
    __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
    weighing = prefilter(
        query, memories, now=now, settings=settings, keep=len(memories), query_embedding=query_embedding
    ).weighing
    assert weighing is not None  # there is at least one memory
    before = _before(weighing)
    kinds = {memory.id: with_kind(memory).kind for memory in memories}
    result = reranking.result
    selected = {memory.id for memory in reranking.memories()}
    ranked = [
        Explained(
            id=place.id,
            kind=kinds[place.id],
            **before[place.id],
            **_ranked(at, place, reranking, is_in=place.id in selected),
        )
        for at, place in enumerate(result.ranking, start=1)
    ]
    left_out = [
        Explained(
            id=one,
            kind=kinds[one],
            **before.get(one, {}),
            **_left_out(weighing.repeated.get(one), reached=len(ranked), count=len(weighing.memories)),
        )
        for one in result.pruned
    ]
    return ranked + left_out


def _before(weighing: Weighing) -> dict[str, dict[str, Any]]:
    """What the prefilter knew of each memory that is no duplicate."""
    return {
        weighing.memories[at].id: {
            "prefilter_place": place,
            "prefilter_score": weighing.scores[at],
            "signals": Signals(
                similarity=_known(weighing.similarity[at]),
                recency=_known(weighing.recency[at]),
                keywords=_known(weighing.keyword[at]),
            ),
        }
        for place, at in enumerate(best_first(weighing.scores), start=1)
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _ranked(at: int, place: Ranked, reranking: Reranking, *, is_in: bool) -> dict[str, Any]:
    """The fate of a memory that was ranked."""
    who = "the model" if reranking.source is Source.MODEL else "the prefilter"
    least = reranking.min_relevance
    if is_in:
        fate, why = Fate.SELECTED, f"{who} put it at place {at}; the prompt holds {reranking.top_k}"
    elif place.relevance is not None and place.relevance < least:
        fate = Fate.IRRELEVANT
        why = f"it helps with a probability of {place.relevance:.2f}, below the least of {least:.2f}"
    else:
        fate, why = Fate.OUTRANKED, f"{who} put it at place {at}, and the prompt holds {reranking.top_k}"
    return {
        "fate": fate,
        "why": why,
        "place": at,
        "score": place.score,
        "evidence": place.evidence,
        "relevance": place.relevance,
    }


def _left_out(says_the_same: str | None, *, reached: int, count: int) -> dict[str, Any]:
    """The fate of a memory that was not ranked."""
    if says_the_same is not None:
        why = "another memory that is as new or newer says the same"
        return {"fate": Fate.DUPLICATE, "why": why, "duplicate_of": says_the_same}
    return {
        "fate": Fate.PRUNED,
        "why": f"the prefilter let the best {reached} of {count} through, and not it",
    }
