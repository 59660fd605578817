"""`/rerank` itself: Cohere's, Jina's and TEI's clients call it, and some of TEI's know no other path.

A body that has `texts` and no `documents` is TEI's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, RootModel

from memsift_producer.gateway.call import Call
from memsift_producer.gateway.dialects import cohere_jina, tei
from memsift_producer.gateway.dialects.base import Answer
from memsift_producer.gateway.problems import Problem
from memsift_producer.reranker import Reranker

# Inside of a JSON string quotes are escaped, so that no text can pass for a key.
_TEXTS, _DOCUMENTS = (re.compile(rb'"%b"\s*:' % key) for key in (b"texts", b"documents"))
_COHERE_JINA, _TEI = cohere_jina.CohereJina(), tei.Tei()


class Request(RootModel[cohere_jina.Request | tei.Request]):
    """Either form."""


class Response(RootModel[cohere_jina.Response | list[tei.Result]]):
    """In the form of the request."""


class Refusal(cohere_jina.Refusal):
    """Both forms at once: some calls are refused before their body is read."""

    error: str
    error_type: str
    request_id: str


class Bare:
    """See the module."""

    name: ClassVar[str] = "bare"
    ranks: ClassVar[bool] = True
    paths: ClassVar[tuple[str, ...]] = ("/rerank",)
    summary: ClassVar[str] = "Rerank plain documents, as Cohere and Jina do, or TEI"
    request: ClassVar[type[BaseModel]] = Request
    response: ClassVar[type[BaseModel]] = Response
    refusal: ClassVar[type[BaseModel]] = Refusal
    example: ClassVar[tuple[Any, Any]] = _COHERE_JINA.example

    async def answer(self, raw: bytes, call: Call, reranker: Reranker) -> Answer:
        """See `Dialect`."""
        asks_tei = _TEXTS.search(raw) and not _DOCUMENTS.search(raw)
        return await (_TEI if asks_tei else _COHERE_JINA).answer(raw, call, reranker)

    def problem(self, problem: Problem, request_id: str) -> Mapping[str, Any]:
        """See `Dialect`."""
        return {**_COHERE_JINA.problem(problem, request_id), **_TEI.problem(problem, request_id)}
