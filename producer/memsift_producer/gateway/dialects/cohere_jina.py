"""Cohere's rerank, v1 and v2, and Jina's: one form, the union of what their clients send and read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import orjson
from pydantic import BaseModel, Field

from memsift_producer.gateway import body, plain
from memsift_producer.gateway.call import Call
from memsift_producer.gateway.dialects.base import Answer, Count, Form, ModelName, Query, Usage, WholeNumber
from memsift_producer.gateway.problems import Problem
from memsift_producer.reranker import Reranker

# What Cohere bills: one unit is a question with up to 100 documents. Here nothing is billed.
_DOCUMENTS_PER_UNIT = 100


class TextDocument(Form):
    """A document as an object; other fields are ignored."""

    text: str = Field(repr=False)


class Request(Form):
    """What a client asks."""

    model: ModelName = None
    query: Query
    documents: list[str | TextDocument] = Field(min_length=1, repr=False)
    top_n: Count | None = Field(None, description="How many of the best to return; all by default.")
    return_documents: bool | None = Field(None, description="Whether to repeat the texts; not by default.")
    max_tokens_per_doc: WholeNumber | None = Field(
        None, description="Not read: a document is cut at 2,000 characters."
    )


class Result(Form):
    """One document's place; results come best first."""

    index: int = Field(ge=0, description="Position among the documents that were sent.")
    relevance_score: float = Field(gt=0, lt=1)
    document: TextDocument | None = None


class ApiVersion(Form):
    """Cohere's, whose clients read it."""

    version: str


class BilledUnits(Form):
    """As Cohere counts; nothing is billed here."""

    search_units: int = Field(ge=1)


class Meta(Form):
    """What Cohere's clients read beside the results."""

    api_version: ApiVersion
    billed_units: BilledUnits


class Response(Form):
    """A ranking: every index once, or the best `top_n`."""

    id: str
    model: str
    results: list[Result] = Field(min_length=1)
    usage: Usage
    meta: Meta


class Refusal(Form):
    """Cohere's clients read `message`, Jina's `detail`."""

    id: str
    message: str
    detail: str
    code: str


class CohereJina:
    """See the module."""

    name: ClassVar[str] = "cohere-jina"
    ranks: ClassVar[bool] = True
    paths: ClassVar[tuple[str, ...]] = ("/v1/rerank", "/v2/rerank")
    summary: ClassVar[str] = "Rerank plain documents, as Cohere and Jina do"
    request: ClassVar[type[BaseModel]] = Request
    response: ClassVar[type[BaseModel]] = Response
    refusal: ClassVar[type[BaseModel]] = Refusal
    example: ClassVar[tuple[Any, Any]] = (
        {
            "model": "memsift",
            "query": "Where is the key to the cabin?",
            "documents": ["The cabin has no heating.", "The cabin's key lies under the blue pot."],
            "top_n": 2,
        },
        {
            "id": "7d1f2c9e0b5a4f3c",
            "model": "memsift",
            "results": [{"index": 1, "relevance_score": 0.62}, {"index": 0, "relevance_score": 0.21}],
            "usage": {"total_tokens": 118},
            "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
        },
    )

    async def answer(self, raw: bytes, call: Call, reranker: Reranker) -> Answer:
        """See `Dialect`."""
        __tracebackhide__ = True
        asked = body.parse(Request, raw)
        texts = [one if isinstance(one, str) else one.text for one in asked.documents]
        ranking = await plain.rank(
            plain.Asked(query=asked.query, texts=texts, model=asked.model, top=asked.top_n), call, reranker
        )
        results: list[dict[str, Any]] = [
            {"index": place.index, "relevance_score": place.score} for place in ranking.places
        ]
        if asked.return_documents:
            for result in results:
                result["document"] = {"text": texts[result["index"]]}
        content = {
            "id": ranking.result.job_id,
            "model": asked.model or ranking.ranker,
            "results": results,
            "usage": {"total_tokens": ranking.tokens},
            "meta": {
                "api_version": {"version": "2"},
                "billed_units": {"search_units": -(-len(texts) // _DOCUMENTS_PER_UNIT)},
            },
        }
        return Answer(orjson.dumps(content), ranking.result)

    def problem(self, problem: Problem, request_id: str) -> Mapping[str, Any]:
        """See `Dialect`."""
        told = problem.message
        return {"id": request_id, "message": told, "detail": told, "code": problem.code}
