"""The asyncio face of memsift: `await reranker.rerank(...)` returns a ranking by the deadline, always."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from memsift_producer.cards import Card
from memsift_producer.chosen_settings import chosen
from memsift_producer.meter import Meter
from memsift_producer.observed import Observed
from memsift_producer.prefilter import Reader
from memsift_producer.preparation import Prepared, draft, pack, prepare_warm_up
from memsift_producer.question import Question
from memsift_producer.reranking import Reranking
from memsift_producer.told import OnBreaker
from memsift_schemas import calibration
from memsift_schemas.clock import Clock, ServerClock
from memsift_schemas.getting_ready import get_ready
from memsift_schemas.job import ANONYMOUS, DEFAULT_SESSION
from memsift_schemas.memory import Memory, Turn
from memsift_schemas.result import Cause, RerankResult
from memsift_schemas.sealing import KeyRing

if TYPE_CHECKING:
    from memsift_schemas.settings import ProducerSettings


class Reranker:
    """Asks the workers to rank memories. Use one per process, for any number of calls at once.

    It holds two connections: one enqueues and watches the state that all frontends share, one reads this
    process's reply list. It belongs to the event loop in which it was opened.

        async with Reranker.from_url("redis://localhost") as reranker:
            result = await reranker.rerank(query="...", memories=memories, user="u1", session="s1")
            prompt_memories = result.texts()

    Attributes:
        feedback: tells which memories an answer really used, see `Feedback.__call__`.
    """

    def __init__(
        self,
        settings: ProducerSettings | None = None,
        *,
        clock: Clock | None = None,
        on_breaker: OnBreaker | None = None,
        metrics: Meter | None = None,
    ) -> None:
        """Opens nothing yet.

        Args:
            settings: None reads them from the environment.
            clock: this machine's, for tests.
            on_breaker: called in the event loop whenever the breaker opens or closes.
            metrics: counts calls, such as `memsift_producer.metrics.Metrics()`.
        """
        self.metrics = metrics or Meter()
        self.settings = settings or chosen()
        self._clock = ServerClock(clock)
        self._ring = KeyRing.of(self.settings.seal_keys)
        self._calibration = calibration.load(self.settings.calibration)
        # Not before one is made: with redis-py the import of this module would take half as long again.
        from memsift_producer.parts import assemble  # noqa: PLC0415

        self._parts = assemble(
            self.settings, self._clock, ring=self._ring, metrics=self.metrics, on_breaker=on_breaker
        )
        self.breaker = self._parts.breaker
        self.feedback = self._parts.afterwards.feedback
        self._reader = Reader()
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
        return cls(chosen(redis_url=url, **settings))

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Start the two connections. Does not fail when Redis is away: calls then fall back.

        Reads the Chinese dictionary and builds the models, during 150 ms in which nothing else runs: call it
        before the process takes requests.
        """
        get_ready()
        self._closed = False
        self._tasks = self._parts.start()
        await self._parts.ready()

    async def close(self) -> None:
        """Answer every call in flight with its fallback and close both connections."""
        self._closed = True
        tasks, self._tasks = self._tasks, []
        await self._parts.close(tasks)

    async def rerank(  # noqa: PLR0913  # one keyword per thing that a frontend knows
        self,
        *,
        query: str,
        memories: Sequence[Memory | Mapping[str, Any]],
        user: str = ANONYMOUS,
        session: str = DEFAULT_SESSION,
        turns: Sequence[Turn | Mapping[str, Any]] = (),
        activity: Sequence[str] = (),
        top_k: int | None = None,
        min_relevance: float | None = None,
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
            min_relevance: leave memories out of the prompt whose relevance, a probability from 0 to 1, is
                known to be below this; known it is where a calibration holds a curve for the ranker.
            deadline: seconds from now by which this returns.
            now: when the question was asked, with the user's time zone.
            ranker: another ranker than the worker's default.
            query_embedding: the question's vector, for memories that carry an embedding.

        Returns:
            The model's ranking, or the prefilter's with the cause. By the deadline, always.

        Raises:
            InvalidInput: an argument is wrong. Operational faults never raise.
        """
        __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
        question = Question(
            query=query,
            memories=memories,
            user=user,
            session=session,
            turns=turns,
            activity=activity,
            top_k=top_k,
            min_relevance=min_relevance,
            deadline=deadline,
            now=now,
            ranker=ranker,
            query_embedding=query_embedding,
        )
        return await self.answer(question)

    async def answer(self, question: Question) -> Reranking:
        """`rerank` for who has the arguments in one piece.

        Raises:
            InvalidInput: one of them is wrong. Operational faults never raise.
        """
        __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
        started = self._clock.monotonic()
        with Observed(self.metrics) as call:
            was_new = await self._reader.read(question.memories or ())
            drafted = draft(
                question, settings=self.settings, reply_to=self._parts.replies.name, clock=self._clock
            )
            if was_new:
                await asyncio.sleep(0)  # what nobody has looked at before takes twice the time
            prepared = pack(
                drafted,
                settings=self.settings,
                clock=self._clock,
                calibration=self._calibration,
                ring=self._ring,
            )
            result = await self._answer(prepared, started)
            seconds = self._clock.monotonic() - started
            result = result.model_copy(update={"timings_ms": {**result.timings_ms, "total": seconds * 1e3}})
            call.answered(result, seconds)
        self._parts.afterwards.answered(question, prepared, result)
        return Reranking(result, prepared.fallback, prepared.top_k, prepared.by_id, prepared.min_relevance)

    @property
    def workers(self) -> tuple[Card, ...]:
        """The workers that are present, as of a second ago; none while Redis is away."""
        return () if self.breaker.away else tuple(c for c in self._parts.dispatch.affinity.cards if c.serves)

    async def forget(self, *, user: str, memories: Sequence[str]) -> None:
        """Take memories out of all prompts that workers keep for a user's sessions.

        Call it when the user deletes or edits a memory. The next turn of each session begins anew.

        Args:
            user: whose memories these are.
            memories: their ids.

        Raises:
            InvalidInput: an id is none.
            NotForgotten: Redis could not be told: call again.
        """
        await self._parts.forget(user, memories)

    async def warm(
        self,
        *,
        user: str,
        session: str,
        memories: Sequence[Memory | Mapping[str, Any]],
        turns: Sequence[Turn | Mapping[str, Any]] = (),
        ranker: str | None = None,
    ) -> bool:
        """Let the session's memories be read before its first question, when a conversation opens.

        Best effort and of low priority: it is dropped while anything else waits, and nobody is told whether a
        worker came to it. What is computed serves questions with the same `user`, `session` and `ranker`.

        Args:
            user: as in `rerank`.
            session: the conversation.
            memories: what recall will probably find, at most 200; as many are read as a question keeps.
            turns: the conversation up to now, oldest first.
            ranker: another ranker than the worker's default.

        Returns:
            Whether it was sent.

        Raises:
            InvalidInput: an argument is wrong. Operational faults never raise.
        """
        __tracebackhide__ = True
        question = Question(
            query="", memories=memories, user=user, session=session, turns=turns, ranker=ranker
        )
        if not memories:
            return False
        await self._reader.read(memories)
        job, raw = prepare_warm_up(question, settings=self.settings, clock=self._clock, ring=self._ring)
        if self._closed or not self._tasks or self.breaker.away or self.breaker.is_open:
            return False
        return self._parts.dispatch.warms(job) and await self._parts.warm_ups.send(job, raw)

    async def _answer(self, prepared: Prepared, started: float) -> RerankResult:
        if prepared.job is None:
            return await prepared.fallback.at_once(Cause.NO_CANDIDATES)
        if self._closed or not self._tasks:
            return await prepared.fallback.at_once(Cause.CLOSED)
        return await self._parts.answering.answer(prepared, prepared.job, started)
