"""Our own form: a rerank job in, a rerank result out, with sessions, turns, kinds and deadline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import AwareDatetime, BaseModel, Field, FiniteFloat

from memsift_producer.gateway import body
from memsift_producer.gateway.asking import ask
from memsift_producer.gateway.call import Call
from memsift_producer.gateway.dialects.base import Answer, Count, Form, PromptSize, Query
from memsift_producer.gateway.problems import Invalid, Problem, TooLarge
from memsift_producer.question import Question
from memsift_producer.reranker import Reranker
from memsift_producer.reranking import Reranking
from memsift_schemas.errors import InvalidInput, JobTooLarge
from memsift_schemas.job import MAX_CANDIDATES
from memsift_schemas.memory import Id, Memory, ShortText, Turn
from memsift_schemas.result import RerankResult


class Request(Form):
    """A `RerankJob` without what the gateway knows better: id, clocks, reply list.

    User and deadline beat the headers of the same meaning.
    """

    query: Query
    candidates: tuple[Memory, ...] = Field(max_length=MAX_CANDIDATES, repr=False)
    user: Id | None = Field(None, description="Whose memories these are, within the key's scope.")
    session: Id | None = Field(None, description="The conversation; its turns share a cached prefix.")
    turns: tuple[Turn, ...] = Field((), repr=False, description="The conversation before it, oldest first.")
    activity: tuple[ShortText, ...] = Field((), repr=False, description="Short recent events, oldest first.")
    now: AwareDatetime | None = Field(None, description="When it was asked, in the user's time zone.")
    top_k: PromptSize | None = Field(None, description="How many the prompt holds.")
    min_relevance: FiniteFloat | None = Field(None, ge=0, le=1)
    ranker: str | None = Field(None, max_length=64, description="Another ranker than the workers' default.")
    deadline_ms: Count | None = Field(None, description="Milliseconds from the call's arrival.")
    query_embedding: tuple[FiniteFloat, ...] | None = Field(
        None, min_length=1, repr=False, description="For candidates that carry an embedding."
    )


class Fault(Form):
    """What is wrong and what to do."""

    code: str
    message: str
    request_id: str


class Refusal(Form):
    """Why there is no ranking."""

    error: Fault


class Native:
    """See the module."""

    name: ClassVar[str] = "native"
    ranks: ClassVar[bool] = True
    paths: ClassVar[tuple[str, ...]] = ("/v1/memories/rerank",)
    summary: ClassVar[str] = "Rerank memories, with all that memsift knows of them"
    request: ClassVar[type[BaseModel]] = Request
    response: ClassVar[type[BaseModel]] = RerankResult
    refusal: ClassVar[type[BaseModel]] = Refusal
    example: ClassVar[tuple[Any, Any]] = (
        {
            "query": "What's on for me today?",
            "user": "u1",
            "session": "s1",
            "now": "2026-10-09T08:00:00+01:00",
            "top_k": 1,
            "candidates": [
                {
                    "id": "m1",
                    "text": "The audition is on 9 October at 14:40 in Braidburn Hall.",
                    "created_at": "2026-10-05T17:10:00+01:00",
                    "kind": "time-bound",
                    "similarity": 0.71,
                },
                {"id": "m2", "text": "Tom likes window seats.", "created_at": None},
            ],
        },
        {
            "job_id": "7d1f2c9e0b5a4f3c",
            "ranking": [{"id": "m1", "score": 1.4}, {"id": "m2", "score": -1.4}],
            "source": "model",
            "selected": ["m1"],
            "ranker": "local",
            "model": "smollm2-135m",
        },
    )

    async def answer(self, raw: bytes, call: Call, reranker: Reranker) -> Answer:
        """See `Dialect`."""
        __tracebackhide__ = True
        reranking = await rank(body.parse(Request, raw), call, reranker)
        return Answer(reranking.result.model_dump_json().encode(), reranking.result)

    def problem(self, problem: Problem, request_id: str) -> Mapping[str, Any]:
        """See `Dialect`."""
        return refusal(problem, request_id)


async def rank(asked: Request, call: Call, reranker: Reranker) -> Reranking:
    """Answer one request.

    Raises:
        Problem: it is not answered with a ranking.
    """
    __tracebackhide__ = True
    user = call.user(asked.user)
    try:
        question = Question(
            query=asked.query,
            memories=asked.candidates,
            user=user,
            session=asked.session or call.session,
            turns=asked.turns,
            activity=asked.activity,
            top_k=asked.top_k,
            min_relevance=asked.min_relevance,
            now=asked.now,
            ranker=asked.ranker,
            query_embedding=asked.query_embedding,
        )
        return await ask(question, call, reranker, asked.deadline_ms)
    except JobTooLarge as error:
        raise TooLarge(str(error)) from None
    except InvalidInput as error:
        raise Invalid(str(error).replace("memories", "candidates")) from None


def refusal(problem: Problem, request_id: str) -> Mapping[str, Any]:
    """The body of a `Refusal`."""
    return {"error": {"code": problem.code, "message": problem.message, "request_id": request_id}}
