"""Feedback: which memories an answer really used, for the memory hit rate; asked as a ranking is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import orjson
from pydantic import BaseModel, Field

from memsift_producer.gateway import body
from memsift_producer.gateway.call import Call
from memsift_producer.gateway.dialects import native
from memsift_producer.gateway.dialects.base import Answer, Form
from memsift_producer.gateway.problems import Problem
from memsift_producer.reranker import Reranker
from memsift_producer.told import FeedbackOutcome
from memsift_schemas.job import MAX_CANDIDATES
from memsift_schemas.memory import Id


class Request(Form):
    """What is said of one answer, once."""

    job_id: Id = Field(description="The `job_id` of the ranking.")
    used: tuple[Id, ...] = Field(
        (), max_length=MAX_CANDIDATES, description="Ids of memories that the answer used; empty: none."
    )
    missed: tuple[Id, ...] = Field(
        (), max_length=MAX_CANDIDATES, description="Ids of memories that should have been in the prompt."
    )
    user: Id | None = Field(None, description="Whose call it was, within the key's scope.")


class Response(Form):
    """What became of it."""

    job_id: str
    outcome: FeedbackOutcome = Field(
        description="`unknown`: no such call of this user is remembered, or it was told of already. "
        "`unavailable`: Redis could not be asked. `off`: MEMSIFT_FEEDBACK_TTL_S is not set."
    )


class TellsFeedback:
    """See the module."""

    name: ClassVar[str] = "feedback"
    ranks: ClassVar[bool] = False
    paths: ClassVar[tuple[str, ...]] = ("/v1/memories/feedback",)
    summary: ClassVar[str] = "Tell which memories an answer really used"
    request: ClassVar[type[BaseModel]] = Request
    response: ClassVar[type[BaseModel]] = Response
    refusal: ClassVar[type[BaseModel]] = native.Refusal
    example: ClassVar[tuple[Any, Any]] = (
        {"job_id": "7d1f2c9e0b5a4f3c", "used": ["m1"], "missed": ["m7"], "user": "u1"},
        {"job_id": "7d1f2c9e0b5a4f3c", "outcome": "counted"},
    )

    async def answer(self, raw: bytes, call: Call, reranker: Reranker) -> Answer:
        """See `Dialect`."""
        told = body.parse(Request, raw)
        user = call.user(told.user)
        outcome = await reranker.feedback(told.job_id, used=told.used, missed=told.missed, user=user)
        return Answer(orjson.dumps({"job_id": told.job_id, "outcome": outcome}), None)

    def problem(self, problem: Problem, request_id: str) -> Mapping[str, Any]:
        """See `Dialect`."""
        return native.refusal(problem, request_id)
