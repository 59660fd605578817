"""The two tools: which memories belong into the prompt, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from memsift_producer import documents
from memsift_producer.documents import within
from memsift_producer.explanation import explain
from memsift_producer.mcp.forms import Arguments, Chosen, Explanation, Reranked, ToExplain, ToRerank
from memsift_producer.question import Question
from memsift_producer.reranker import Reranker
from memsift_schemas.clock import Clock
from memsift_schemas.errors import InvalidInput
from memsift_schemas.job import ANONYMOUS, DEFAULT_SESSION
from memsift_schemas.memory import Memory
from memsift_schemas.result import Cause, RerankResult
from memsift_schemas.settings import GatewaySettings

_USE = "The order is the prefilter's, by similarity, keywords and time: use it as it is. "
_AWAY = _USE + "Calling again at once changes nothing; `memsift status` tells an operator what is missing."
_LATE = _USE + "The model did not answer in time: where there is more time, pass a longer `deadline_ms`."
_ADVICE: Mapping[Cause | None, str] = MappingProxyType(
    {
        None: "The model ranked them: use them as they are.",
        Cause.UNKNOWN_RANKER: _USE + "No worker serves this ranker: leave `ranker` out.",
        Cause.DEADLINE: _LATE,
        Cause.EXPIRED: _LATE,
        Cause.TOO_LATE: _LATE,
        Cause.OVERLOADED: _USE + "There is too much to do: calling again at once makes it worse.",
        Cause.QUEUE_FULL: _USE + "There is too much to do: calling again at once makes it worse.",
    }
)


@dataclass(frozen=True, slots=True)
class Desk:
    """What the tools work with: an open reranker, the gateway's limits, the time."""

    reranker: Reranker
    settings: GatewaySettings
    clock: Clock

    def seconds(self, asked: Arguments) -> float:
        """How long this call may take."""
        wished_ms = asked.deadline_ms or self.settings.deadline_ms
        return min(wished_ms, self.settings.gateway_max_deadline_ms) / 1e3


async def rerank_memories(asked: ToRerank, desk: Desk) -> Reranked:
    """Choose the memories that belong into the prompt.

    Raises:
        InvalidInput: an argument is wrong; says which and what to do.
    """
    __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
    most = desk.settings.gateway_max_documents
    if len(asked.memories) > most:
        raise InvalidInput(f"memories: {len(asked.memories)} are over the limit of {most}: send fewer")
    least = desk.settings.min_relevance if asked.min_relevance is None else asked.min_relevance
    given = [item.model_dump(exclude_none=True) for item in asked.memories]
    question = _question(asked, memories=given, min_relevance=least)
    ask = within(desk.reranker, desk.seconds(asked), desk.clock)
    ranking = await documents.rank(question, ask, settings=desk.settings, top=asked.top_k)
    # What was never ranked, duplicates above all, belongs into no prompt.
    places = ranking.places[: len(ranking.result.ranking)]
    return Reranked(
        memories=tuple(
            Chosen(
                place=at,
                index=place.index,
                id=asked.memories[place.index].id or _position(place.index),
                text=asked.memories[place.index].text,
                score=place.score,
                relevance=place.relevance,
            )
            for at, place in enumerate(places, start=1)
        ),
        considered=len(given),
        **_origin(ranking.result),
    )


async def explain_ranking(asked: ToExplain, desk: Desk) -> Explanation:
    """Rank, and tell of each memory why it came in or stayed out.

    Raises:
        InvalidInput: an argument is wrong; says which and what to do.
    """
    __tracebackhide__ = True
    now = asked.now or datetime.fromtimestamp(desk.clock.time(), UTC)
    memories = [
        Memory.model_validate({"created_at": None, "id": _position(at), **item.model_dump(exclude_none=True)})
        for at, item in enumerate(asked.memories)
    ]
    question = _question(
        asked,
        memories=memories,
        min_relevance=asked.min_relevance,
        top_k=asked.top_k,
        deadline=desk.seconds(asked),
        now=now,
    )
    reranking = await desk.reranker.answer(question)
    told = explain(asked.query, memories, reranking, now=now, settings=desk.settings)
    result = reranking.result
    return Explanation(memories=tuple(told), timings_ms=result.timings_ms, **_origin(result))


def _position(at: int) -> str:
    return f"#{at}"


def _question(asked: Arguments, **more: Any) -> Question:
    said: dict[str, Any] = {
        "query": asked.query,
        "user": asked.user or ANONYMOUS,
        "session": asked.session or DEFAULT_SESSION,
        "turns": asked.turns,
        "now": asked.now,
        "ranker": asked.ranker,
    }
    return Question(**{**said, **more})


def _origin(result: RerankResult) -> dict[str, Any]:
    return {
        "source": result.source,
        "cause": result.cause,
        "ranker": result.ranker,
        "advice": _ADVICE.get(result.cause, _AWAY),
    }
