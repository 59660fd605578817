"""The page's own form of asking: that of `/v1/memories/rerank`, answered with what made the ranking."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

from pydantic import BaseModel

from memsift_producer.gateway import body
from memsift_producer.gateway.call import Call
from memsift_producer.gateway.dialects import native
from memsift_producer.gateway.dialects.base import Answer
from memsift_producer.prefilter import Seen, explain, weights
from memsift_producer.reranker import Reranker
from memsift_schemas.memory import MAX_MEMORY_CHARS, Model
from memsift_schemas.result import RerankResult
from memsift_schemas.text import clean, cut


class Explained(Model):
    """A ranking and what led to it; no memory text.

    Attributes:
        result: what `/v1/memories/rerank` answers.
        before: the prefilter's ranking, which would have been the answer without a model.
        seen: what the prefilter saw in each memory, in the order given.
        weights: how much each of its signals counts.
        top_k: how many memories the prompt holds.
    """

    result: RerankResult
    before: RerankResult
    seen: tuple[Seen, ...]
    weights: dict[str, float]
    top_k: int


class ForPeople(native.Native):
    """See the module. It does the prefilter's work twice, so it is nothing for a chat's every turn."""

    name: ClassVar[str] = "ui"
    paths: ClassVar[tuple[str, ...]] = ("/ui/rank",)
    summary: ClassVar[str] = "Rank memories and tell what made the ranking"
    response: ClassVar[type[BaseModel]] = Explained

    async def answer(self, raw: bytes, call: Call, reranker: Reranker) -> Answer:
        """See `Dialect`."""
        __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
        asked = body.parse(native.Request, raw)
        now = asked.now or datetime.now(UTC)
        reranking = await native.rank(asked.model_copy(update={"now": now}), call, reranker)
        seen = explain(
            cut(clean(asked.query), MAX_MEMORY_CHARS)[0],
            asked.candidates,
            now=now,
            settings=reranker.settings,
            query_embedding=asked.query_embedding,
        )
        explained = Explained(
            result=reranking.result,
            before=reranking.fallback,
            seen=tuple(seen),
            weights=weights(reranker.settings),
            top_k=reranking.top_k,
        )
        return Answer(explained.model_dump_json().encode(), reranking.result)
