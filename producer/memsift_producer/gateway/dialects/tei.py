"""The form of Hugging Face's text-embeddings-inference (TEI): `texts` in, a bare list out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import orjson
from pydantic import BaseModel, Field, RootModel

from memsift_producer.documents.scores import logit
from memsift_producer.gateway import body, plain
from memsift_producer.gateway.call import Call
from memsift_producer.gateway.dialects.base import Answer, Form, Query
from memsift_producer.gateway.problems import Invalid, Problem
from memsift_producer.reranker import Reranker


class Request(Form):
    """What a client asks."""

    query: Query
    texts: list[str] = Field(min_length=1, repr=False)
    truncate: bool | None = Field(None, description="Not read: a text is cut at 2,000 characters.")
    raw_scores: bool = Field(False, description="Scores before the logistic function, of any size.")
    return_text: bool = Field(False, description="Whether to repeat the texts.")


class Result(Form):
    """One text's place; results come best first."""

    index: int = Field(ge=0)
    score: float
    text: str | None = None


class Response(RootModel[list[Result]]):
    """A ranking of every text."""


class Refusal(Form):
    """TEI's own form of an error."""

    error: str
    error_type: str
    request_id: str


class Tei:
    """See the module. TEI's own path is also Cohere's and Jina's: `bare` tells them apart there."""

    name: ClassVar[str] = "tei"
    ranks: ClassVar[bool] = True
    paths: ClassVar[tuple[str, ...]] = ("/tei/rerank",)
    summary: ClassVar[str] = "Rerank plain texts, as text-embeddings-inference does"
    request: ClassVar[type[BaseModel]] = Request
    response: ClassVar[type[BaseModel]] = Response
    refusal: ClassVar[type[BaseModel]] = Refusal
    example: ClassVar[tuple[Any, Any]] = (
        {
            "query": "Where is the key to the cabin?",
            "texts": ["The cabin has no heating.", "The cabin's key lies under the blue pot."],
        },
        [{"index": 1, "score": 0.62}, {"index": 0, "score": 0.21}],
    )

    async def answer(self, raw: bytes, call: Call, reranker: Reranker) -> Answer:
        """See `Dialect`."""
        __tracebackhide__ = True
        asked = body.parse(Request, raw)
        ranking = await plain.rank(plain.Asked(query=asked.query, texts=asked.texts), call, reranker)
        results: list[dict[str, Any]] = [
            {"index": place.index, "score": logit(place.score) if asked.raw_scores else place.score}
            for place in ranking.places
        ]
        if asked.return_text:
            for result in results:
                result["text"] = asked.texts[result["index"]]
        return Answer(orjson.dumps(results), ranking.result)

    def problem(self, problem: Problem, request_id: str) -> Mapping[str, Any]:
        """See `Dialect`."""
        # TEI's word for what a client must change; its clients tell by it.
        kind = "validation" if isinstance(problem, Invalid) else problem.code
        return {"error": problem.message, "error_type": kind, "request_id": request_id}
