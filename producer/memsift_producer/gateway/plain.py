"""A question over plain documents, as all reranking APIs ask it: texts to a place and a score for each."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memsift_producer.gateway.asking import ask
from memsift_producer.gateway.call import Call
from memsift_producer.gateway.problems import Invalid, TooLarge
from memsift_producer.gateway.scores import relevance_scores
from memsift_producer.gateway.shortlist import shortlist, surely_fits
from memsift_producer.preparation import Question
from memsift_producer.reranker import Reranker
from memsift_schemas.errors import InvalidInput
from memsift_schemas.memory import Memory
from memsift_schemas.result import RerankResult
from memsift_schemas.settings import RANKERS
from memsift_schemas.text import clean

Row = Mapping[str, Any]
# 96 bits: two of a billion documents share an id with a probability of one in 10^11.
_ID_BYTES = 12


@dataclass(frozen=True, slots=True)
class Asked:
    """What a plain dialect's body says.

    Attributes:
        query: the question.
        texts: the documents.
        model: names a ranker of ours, such as `jev>local`; any other name takes the worker's default one.
        top: how many of the best are wanted; None for all.
    """

    query: str = field(repr=False)
    texts: Sequence[str] = field(repr=False)
    model: str | None = None
    top: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A document in a ranking: its position in what was sent, and its score, above 0 and below 1."""

    index: int
    score: float


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


async def rank(asked: Asked, call: Call, reranker: Reranker) -> Ranking:
    """Rank plain documents. Each becomes a memory whose time and similarity are unknown.

    Behind what the ranker ranked come, in this order: what the prefilter left out, what did not fit into one
    job, and documents without any text.

    Raises:
        TooLarge: more documents than this call may hold.
        Invalid: the question, user or session cannot be.
        OutOfScope: the key may not name this user.
    """
    __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
    count = len(asked.texts)
    if count > call.max_documents:
        raise TooLarge(f"{count} documents are over the limit of {call.max_documents}: send fewer")
    user = call.user()
    ranker = ranker_of(asked.model)
    named, blank = _named(asked.texts, reranker.settings.seal_keys)
    rows = [{"id": name, "text": asked.texts[at], "created_at": None} for name, at in named.items()]
    memories, behind = await _chosen(asked.query, rows, reranker.settings.kept_for(ranker))
    try:
        question = Question(
            query=asked.query,
            memories=memories,
            user=user,
            session=call.session,
            # Who asks for all of them says nothing about how many the prompt will hold.
            top_k=asked.top if asked.top is not None and asked.top < len(memories) else None,
            ranker=ranker,
        )
        reranking = await ask(question, call, reranker)
    except InvalidInput as error:
        raise Invalid(str(error)) from None
    result = reranking.result
    ids = [place.id for place in result.ranking] + list(result.pruned) + [one.id for one in behind]
    order = [named[one] for one in ids] + blank
    scores = relevance_scores(result.ranking, count)
    places = [Place(index, score) for index, score in zip(order, scores, strict=True)]
    return Ranking(places[: asked.top], result)


def ranker_of(model: str | None) -> str | None:
    """The ranker that a model's name means; None for the worker's default one."""
    return model if model is not None and all(part in RANKERS for part in model.split(">")) else None


def _named(texts: Sequence[str], seal_keys: str | None) -> tuple[dict[str, int], list[int]]:
    """An id for each document that has any text, with its position; and the positions of those without.

    The id is that of the text, so that a session's later calls find what its prompts hold already, wherever
    the document then stands. Where payloads are sealed, nobody without the keys can try texts against it.
    """
    secret = hashlib.sha256((seal_keys or "").encode()).digest()
    places: dict[str, int] = {}
    blank = []
    for at, text in enumerate(texts):
        cleaned = clean(text)
        if not cleaned or cleaned.isspace():
            blank.append(at)
            continue
        name = hashlib.blake2b(cleaned.encode(), digest_size=_ID_BYTES, key=secret).hexdigest()
        places[f"{name}.{at}" if name in places else name] = at
    return places, blank


async def _chosen(query: str, rows: Sequence[Row], kept: int) -> tuple[Sequence[Row | Memory], list[Memory]]:
    """What one job can hold, and the others in their order behind."""
    if surely_fits(len(rows), kept):
        return rows, []  # the usual case: the reranker makes memories of them, all in one go
    memories = [Memory.model_validate(row) for row in rows]
    return await asyncio.to_thread(shortlist, query, memories, kept)
