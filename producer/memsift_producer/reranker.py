"""The asyncio face of memsift: `await reranker.rerank(...)` returns a ranking by the deadline, always."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from memsift_producer.outbox import Outbox
from memsift_producer.preparation import Prepared, Question, prepare
from memsift_producer.replies import Replies, Reply
from memsift_producer.reranking import Reranking
from memsift_schemas import settings as settings_module
from memsift_schemas.clock import Clock, ServerClock
from memsift_schemas.memory import Memory, Turn
from memsift_schemas.redis_link import REDIS_FAULTS, connect, end
from memsift_schemas.result import Cause, Refusal, RerankResult
from memsift_schemas.settings import ProducerSettings

# Opening waits this long for Redis; after that calls are answered by the prefilter until it comes.
OPEN_WAIT_S = 1.0


class Reranker:
    """Asks the workers to rank memories. Use one per process, for any number of calls at once.

    It holds two connections: one enqueues, one reads this process's reply list. It belongs to the event
    loop in which it was opened.

        async with Reranker.from_url("redis://localhost") as reranker:
            result = await reranker.rerank(query="...", memories=memories, user="u1", session="s1")
            prompt_memories = result.texts()
    """

    def __init__(self, settings: ProducerSettings | None = None, *, clock: Clock | None = None) -> None:
        self.settings = settings or settings_module.load(ProducerSettings)
        self._clock = ServerClock(clock)
        self._push_link = connect(self.settings.redis_url, client_name="memsift-producer", connections=1)
        self._reply_link = connect(self.settings.redis_url, client_name="memsift-producer", connections=1)
        self._outbox = Outbox(self._push_link, self.settings.queue)
        self._replies = Replies(self._reply_link, self.settings.queue, self._clock)
        self._tasks: list[asyncio.Task[None]] = []
        self._closed = False

    @classmethod
    def from_url(cls, url: str | None = None, **settings: Any) -> Self:
        """A reranker on this Redis.

        Args:
            url: `redis://`, `rediss://` or `unix://`; None takes `MEMSIFT_REDIS_URL`.
            **settings: fields of `ProducerSettings`; each beats its environment variable.

        Raises:
            SettingsError: a setting is wrong; names its variable.
        """
        return cls(settings_module.load(ProducerSettings, redis_url=url, **settings))

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Start the two connections. Does not fail when Redis is away: calls then fall back."""
        self._closed = False
        self._tasks = [
            asyncio.create_task(self._outbox.run(), name="memsift-outbox"),
            asyncio.create_task(self._replies.run(), name="memsift-replies"),
        ]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._replies.connected.wait(), OPEN_WAIT_S)

    async def close(self) -> None:
        """Answer every call in flight with its fallback and close both connections."""
        self._closed = True
        self._replies.refuse_all(Cause.CLOSED)
        await end(self._tasks)
        self._tasks = []
        for link in (self._push_link, self._reply_link):
            with contextlib.suppress(*REDIS_FAULTS):
                await link.aclose()

    async def rerank(  # noqa: PLR0913  # one keyword per thing that a frontend knows
        self,
        *,
        query: str,
        memories: Sequence[Memory | Mapping[str, Any]],
        user: str = "anonymous",
        session: str = "default",
        turns: Sequence[Turn | Mapping[str, Any]] = (),
        activity: Sequence[str] = (),
        top_k: int | None = None,
        deadline: float | None = None,
        now: datetime | None = None,
        ranker: str | None = None,
        query_embedding: Sequence[float] | None = None,
    ) -> Reranking:
        """Rank memories for one question.

        Args:
            query: the user's question.
            memories: what recall found, at most 200; `Memory` objects or mappings of their fields.
            user: whose memories these are; keeps one user's prefix cache apart from another's.
            session: the conversation; its later questions reuse its cached prompt.
            turns: the conversation before the question, oldest first.
            activity: short recent events, such as "opened the calendar".
            top_k: how many memories the prompt holds.
            deadline: seconds from now by which this returns.
            now: when the question was asked, with the user's time zone.
            ranker: another ranker than the worker's default.
            query_embedding: the question's vector, for memories that carry an embedding.

        Returns:
            The model's ranking, or the prefilter's with the cause. By the deadline, always.

        Raises:
            InvalidInput: an argument is wrong. Operational faults never raise.
        """
        started = self._clock.monotonic()
        question = Question(
            query=query,
            memories=memories,
            user=user,
            session=session,
            turns=turns,
            activity=activity,
            top_k=top_k,
            deadline=deadline,
            now=now,
            ranker=ranker,
            query_embedding=query_embedding,
        )
        prepared = prepare(question, settings=self.settings, reply_to=self._replies.name, clock=self._clock)
        result = await self._answer(prepared, started)
        total = {"total": (self._clock.monotonic() - started) * 1e3}
        result = result.model_copy(update={"timings_ms": {**result.timings_ms, **total}})
        return Reranking(result, prepared.fallback, prepared.top_k, prepared.by_id)

    async def _answer(self, prepared: Prepared, started: float) -> RerankResult:
        job = prepared.job
        if job is None:
            return prepared.fallback
        if self._closed or not self._tasks:
            return _fall_back(prepared, Cause.CLOSED)
        time_left = prepared.time_left - (self._clock.monotonic() - started)
        reply = self._replies.expect(job.id)
        enqueued = self._outbox.put(prepared.message)
        try:
            async with asyncio.timeout(time_left):
                either: list[asyncio.Future[Any]] = [enqueued, reply]
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if enqueued.done() and not enqueued.result():
                    return _fall_back(prepared, Cause.REDIS_UNAVAILABLE)
                return _settle(prepared, await reply)
        except TimeoutError:
            cause = (
                Cause.DEADLINE if enqueued.done() and not enqueued.cancelled() else Cause.REDIS_UNAVAILABLE
            )
            return _fall_back(prepared, cause)
        finally:
            enqueued.cancel()
            self._replies.forget(job.id)


def _settle(prepared: Prepared, reply: Reply) -> RerankResult:
    """A worker's ranking if it ranks exactly this job's candidates, else the fallback."""
    if isinstance(reply, Refusal):
        return _fall_back(prepared, reply.cause)
    ranked = [place.id for place in reply.ranking]
    expected = {place.id for place in prepared.fallback.ranking}
    if len(ranked) != len(expected) or set(ranked) != expected:
        return _fall_back(prepared, Cause.INVALID_REPLY)
    timings = {**prepared.fallback.timings_ms, **reply.timings_ms}
    return reply.model_copy(update={"pruned": prepared.fallback.pruned, "timings_ms": timings})


def _fall_back(prepared: Prepared, cause: Cause) -> RerankResult:
    return prepared.fallback.model_copy(update={"cause": cause})
