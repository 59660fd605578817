"""Voyage's rerank: `top_k`, `data`, a document as a bare string."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import orjson
from pydantic import BaseModel, Field

from memsift_producer.gateway import body, plain
from memsift_producer.gateway.call import Call
from memsift_producer.gateway.dialects.base import Answer, Count, Form, ModelName, Query, Usage
from memsift_producer.gateway.problems import Problem
from memsift_producer.reranker import Reranker


class Request(Form):
    """What a client asks."""

    model: ModelName = None
    query: Query
    documents: list[str] = Field(min_length=1, repr=False)
    top_k: Count | None = Field(None, description="How many of the best to return; all by default.")
    return_documents: bool | None = Field(None, description="Whether to repeat the texts; not by default.")
    truncation: bool | None = Field(None, description="Not read: a document is cut at 2,000 characters.")


class Result(Form):
    """One document's place; results come best first."""

    index: int = Field(ge=0)
    relevance_score: float = Field(gt=0, lt=1)
    document: str | None = None


class Response(Form):
    """A ranking: every index once, or the best `top_k`."""

    object: str
    data: list[Result] = Field(min_length=1)
    model: str
    usage: Usage


class Refusal(Form):
    """What Voyage's client puts into its exception."""

    detail: str
    code: str
    request_id: str


class Voyage:
    """See the module. It has a path of its own, since Voyage's is also Cohere's and Jina's."""

    name: ClassVar[str] = "voyage"
    ranks: ClassVar[bool] = True
    paths: ClassVar[tuple[str, ...]] = ("/voyage/v1/rerank",)
    summary: ClassVar[str] = "Rerank plain documents, as Voyage does"
    request: ClassVar[type[BaseModel]] = Request
    response: ClassVar[type[BaseModel]] = Response
    refusal: ClassVar[type[BaseModel]] = Refusal
    example: ClassVar[tuple[Any, Any]] = (
        {
            "model": "memsift",
            "query": "Where is the key to the cabin?",
            "documents": ["The cabin has no heating.", "The cabin's key lies under the blue pot."],
            "top_k": 1,
        },
        {
            "object": "list",
            "data": [{"index": 1, "relevance_score": 0.62}],
            "model": "memsift",
            "usage": {"total_tokens": 118},
        },
    )

    async def answer(self, raw: bytes, call: Call, reranker: Reranker) -> Answer:
        """See `Dialect`."""
        __tracebackhide__ = True
        asked = body.parse(Request, raw)
        question = plain.Asked(query=asked.query, texts=asked.documents, model=asked.model, top=asked.top_k)
        ranking = await plain.rank(question, call, reranker)
        data: list[dict[str, Any]] = [
            {"index": place.index, "relevance_score": place.score} for place in ranking.places
        ]
        if asked.return_documents:
            for result in data:
                result["document"] = asked.documents[result["index"]]
        content = {
            "object": "list",
            "data": data,
            "model": asked.model or ranking.ranker,
            "usage": {"total_tokens": ranking.tokens},
        }
        return Answer(orjson.dumps(content), ranking.result)

    def problem(self, problem: Problem, request_id: str) -> Mapping[str, Any]:
        """See `Dialect`."""
        return {"detail": problem.message, "code": problem.code, "request_id": request_id}
