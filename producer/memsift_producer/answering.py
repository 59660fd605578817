"""From a prepared call to its answer: may it be sent, send it, wait for it, until its deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Set

from memsift_producer.breaker import Breaker
from memsift_producer.dispatch import Dispatch
from memsift_producer.outbox import Outbox, Parcel
from memsift_producer.preparation import Prepared
from memsift_producer.replies import Replies, Reply
from memsift_schemas.clock import Clock
from memsift_schemas.job import RerankJob
from memsift_schemas.result import Cause, Refusal, RerankResult, select


class Answering:
    """Gets each call an answer by its deadline, from a worker or from the prefilter."""

    def __init__(
        self,
        *,
        breaker: Breaker,
        dispatch: Dispatch,
        outbox: Outbox,
        replies: Replies,
        clock: Clock,
    ) -> None:
        self._breaker = breaker
        self._dispatch = dispatch
        self._outbox = outbox
        self._replies = replies
        self._clock = clock

    async def answer(self, prepared: Prepared, job: RerankJob, started: float) -> RerankResult:
        """A ranking by the deadline. Being cancelled tells the worker to drop the job.

        Args:
            prepared: the call.
            job: its job.
            started: when the call began, on the monotonic clock.
        """
        began = self._clock.monotonic()
        time_left = prepared.time_left - (began - started)
        if time_left <= 0:
            return await prepared.fallback.at_once(Cause.DEADLINE)
        probe = await self._breaker.admit(time_left)
        if isinstance(probe, Cause):
            return await prepared.fallback.at_once(probe)
        try:
            result = await self._ask(prepared, job, started + prepared.time_left, is_probe=bool(probe))
        except asyncio.CancelledError:
            self._breaker.give_up(probe)
            raise
        # Without what this process took to prepare it: that says nothing of the way to a worker.
        self._breaker.record(probe, result.cause, self._clock.monotonic() - began, had=time_left)
        return result

    async def _ask(self, prepared: Prepared, job: RerankJob, ends: float, *, is_probe: bool) -> RerankResult:
        """Send the job and wait for its answer, until `ends` on the monotonic clock."""
        time_left = ends - self._clock.monotonic()
        favourite = self._dispatch.choose(job, time_left, ahead=len(self._outbox), is_probe=is_probe)
        if isinstance(favourite, Cause):
            return await prepared.fallback.at_once(favourite)
        reply = self._replies.expect(job.id)
        parcel = self._outbox.put(job.id, prepared.message, job.deadline, favourite)
        # One future to wait for: `asyncio.wait` on both takes twice the time.
        parcel.taken.add_done_callback(lambda taken: _pass_on(taken, reply, job.id))
        cancelled = False
        try:
            async with asyncio.timeout(time_left):
                answer = await reply
        except TimeoutError:
            return prepared.fallback.because(_why_late(parcel))
        except asyncio.CancelledError:
            cancelled = True
            raise
        finally:
            self._outbox.withdraw(parcel, cancelled=cancelled)
            self._replies.forget(job.id)
        if self._clock.monotonic() > ends:
            return prepared.fallback.because(Cause.DEADLINE)
        result = _settle(prepared, answer, {memory.id for memory in job.candidates})
        if "rank" in result.timings_ms:
            self._dispatch.admission.answered(result.timings_ms["rank"])
        return result


def _pass_on(taken: asyncio.Future[Cause | None], reply: asyncio.Future[Reply], job_id: str) -> None:
    """A job that Redis does not take will have no other answer."""
    if taken.cancelled() or reply.done():
        return
    if refused := taken.result():
        reply.set_result(Refusal(job_id=job_id, cause=refused))


def _why_late(parcel: Parcel) -> Cause:
    """The deadline passed: because Redis never took the job, or because nobody answered it."""
    pushed = parcel.taken.done() and not parcel.taken.cancelled()
    return Cause.DEADLINE if pushed else Cause.REDIS_UNAVAILABLE


def _settle(prepared: Prepared, reply: Reply, expected: Set[str]) -> RerankResult:
    """A worker's ranking if it ranks exactly this job's candidates, else the fallback."""
    if isinstance(reply, Refusal):
        return prepared.fallback.because(reply.cause)
    ranked = [place.id for place in reply.ranking]
    if len(ranked) != len(expected) or set(ranked) != expected:
        return prepared.fallback.because(Cause.INVALID_REPLY)
    return reply.model_copy(
        update={
            "selected": select(reply.ranking, top_k=prepared.top_k, min_relevance=prepared.min_relevance),
            "pruned": prepared.pruned,
            "timings_ms": {**prepared.timings_ms, **reply.timings_ms},
        }
    )
