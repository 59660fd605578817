"""A question over documents: each becomes a memory, and comes back as a place and a score."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memsift_producer.documents.scores import relevance_scores
from memsift_producer.documents.shortlist import shortlist, surely_fits
from memsift_producer.question import Question
from memsift_producer.reranker import Reranker
from memsift_producer.reranking import Reranking
from memsift_schemas.clock import Clock
from memsift_schemas.memory import Memory
from memsift_schemas.result import RerankResult
from memsift_schemas.settings import ProducerSettings
from memsift_schemas.text import clean

# Fields of `Memory`; only `text` must be there.
Document = Mapping[str, Any]
Ask = Callable[[Question], Awaitable[Reranking]]

# A call whose time has run out is still answered, by the prefilter.
LEAST_S = 1e-6
# 96 bits: two of a billion documents share an id with a probability of one in 10^11.
_ID_BYTES = 12


@dataclass(frozen=True, slots=True)
class Place:
    """A document in a ranking.

    Attributes:
        index: its position in what was given.
        score: above 0 and below 1, falling along the ranking.
        relevance: the probability that it helps, where a calibration tells.
    """

    index: int
    score: float
    relevance: float | None = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """The places that were asked for, best first, and what they come from."""

    places: Sequence[Place]
    result: RerankResult

    @property
    def ranker(self) -> str:
        """Who ranked; our own name where the prefilter did."""
        return self.result.ranker or "memsift"

    @property
    def tokens(self) -> int:
        """What the model read and wrote; 0 where none did."""
        return self.result.prompt_tokens + self.result.output_tokens


def within(reranker: Reranker, seconds: float, clock: Clock) -> Ask:
    """Asks a reranker for an answer so many seconds from now."""
    ends = clock.monotonic() + seconds
    return lambda question: reranker.answer(
        replace(question, deadline=max(ends - clock.monotonic(), LEAST_S))
    )


async def rank(
    question: Question, ask: Ask, *, settings: ProducerSettings, top: int | None = None
) -> Ranking:
    """Rank documents.

    Each has one place. Behind what the ranker ranked come, in this order: what the prefilter left out
    (near-duplicates at the end), what did not fit into one job, and documents without any text.

    Args:
        question: with the documents as its memories: fields of `Memory`, of which only `text` must be there;
            without an `id` the text's hash is taken. With a `min_relevance`, what is known to be less
            probably relevant is left out of the places.
        ask: answers the question once its memories are chosen.
        settings: of the reranker.
        top: how many of the best are wanted; None for all.

    Raises:
        InvalidInput: the question, or another argument, cannot be.
    """
    __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
    documents: Sequence[Any] = question.memories
    named, blank = identified(documents, settings.seal_keys)
    rows = [{"created_at": None, **documents[at], "id": name} for name, at in named.items()]
    memories, behind = await _chosen(question.query, rows, settings.kept_for(question.ranker))
    # Who asks for all of them says nothing about how many the prompt will hold.
    top_k = top if top is not None and top < len(memories) else None
    result = (await ask(replace(question, memories=memories, top_k=top_k))).result
    ids = [place.id for place in result.ranking] + list(result.pruned) + [one.id for one in behind]
    order = [named[one] for one in ids] + blank
    scores = relevance_scores(result.ranking, len(documents))
    known = [place.relevance for place in result.ranking]
    places = [
        Place(index, score, relevance)
        for index, score, relevance in zip(order, scores, known + [None] * len(documents), strict=False)
    ]
    if question.min_relevance is not None:
        places = _relevant(places, question.min_relevance)
    return Ranking(places[:top], result)


def _relevant(places: list[Place], least: float) -> list[Place]:
    """Those that are not known to be less relevant. It is known of all that were ranked, or of none."""
    if all(place.relevance is None for place in places):
        return places
    return [place for place in places if place.relevance is not None and place.relevance >= least]


def identified(documents: Sequence[Document], seal_keys: str | None) -> tuple[dict[str, int], list[int]]:
    """An id for each document that has any text, with its position; and the positions of those without.

    Without one of its own it is that of the text, so that a session's later calls find what its prompts hold
    already, wherever the document then stands. Where payloads are sealed, nobody without the keys can try
    texts against it.
    """
    secret = hashlib.sha256((seal_keys or "").encode()).digest()
    places: dict[str, int] = {}
    blank = []
    for at, document in enumerate(documents):
        cleaned = clean(document["text"])
        if not cleaned or cleaned.isspace():
            blank.append(at)
            continue
        name = document.get("id") or _digest(cleaned, secret)
        # Twice the same: the second is another memory, and its id no longer the one given.
        places[f"{_digest(name, secret)}.{at}" if name in places else name] = at
    return places, blank


def _digest(text: str, secret: bytes) -> str:
    return hashlib.blake2b(text.encode(), digest_size=_ID_BYTES, key=secret).hexdigest()


async def _chosen(
    query: str, rows: Sequence[Document], kept: int
) -> tuple[Sequence[Document | Memory], list[Memory]]:
    """What one job can hold, and the others in their order behind."""
    if surely_fits(len(rows), kept):
        return rows, []  # the usual case: the reranker makes memories of them, all in one go
    memories = [Memory.model_validate(row) for row in rows]
    return await asyncio.to_thread(shortlist, query, memories, kept)
