"""One reader per process for the reply list; calls wait on futures by job id."""

from __future__ import annotations

import asyncio
import logging
import secrets
from typing import Any

from redis.asyncio import Redis

from memsift_schemas import sealing, wire
from memsift_schemas.clock import ServerClock
from memsift_schemas.errors import InvalidInput
from memsift_schemas.keys import reply_key
from memsift_schemas.redis_link import BLOCK_S, MEASURE_EVERY_S, REDIS_FAULTS, Pause, measure, tell
from memsift_schemas.result import Cause, Refusal, RerankResult
from memsift_schemas.sealing import KeyRing

log = logging.getLogger("memsift.producer")

Reply = RerankResult | Refusal

# Replies taken per round trip.
MAX_PER_POP = 256


class Replies:
    """Futures by job id, filled from this process's reply list.

    The first reply to a job wins; late and foreign ones are dropped.
    """

    def __init__(self, redis: Redis, queue: str, clock: ServerClock, *, ring: KeyRing | None = None) -> None:
        self._redis = redis
        self._ring = ring
        self._clock = clock
        self._waiting: dict[str, asyncio.Future[Reply]] = {}
        self._measured_at = float("-inf")
        # Unguessable: whoever knows the name could read or forge replies.
        self.name = reply_key(queue, secrets.token_urlsafe(16))
        self.connected = asyncio.Event()

    def expect(self, job_id: str) -> asyncio.Future[Reply]:
        """A future for this job's reply; give it back with `forget`."""
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[job_id] = future
        return future

    def forget(self, job_id: str) -> None:
        """Stop waiting; a reply that still comes is dropped."""
        self._waiting.pop(job_id, None)

    def refuse_all(self, cause: Cause) -> None:
        """Answer every call in flight with a refusal."""
        for job_id in list(self._waiting):
            self._deliver(Refusal(job_id=job_id, cause=cause))

    async def run(self) -> None:
        """Read replies for ever, across any fault of Redis; ends by being cancelled."""
        pause = Pause()
        while True:
            try:
                await self._measure_clock()
                popped = await self._redis.blmpop(BLOCK_S, 1, self.name, direction="LEFT", count=MAX_PER_POP)
            except REDIS_FAULTS as fault:
                self._lost(fault)
                await asyncio.sleep(pause.next())
                continue
            pause.reset()
            for raw in popped[1] if popped else ():
                self._read(raw)

    async def _measure_clock(self) -> None:
        if self._clock.monotonic() - self._measured_at < MEASURE_EVERY_S:
            return
        await measure(self._redis, self._clock)
        self._measured_at = self._clock.monotonic()
        if not self.connected.is_set():
            log.info("replies are read again")
            self.connected.set()

    def _lost(self, fault: Exception) -> None:
        self._measured_at = float("-inf")
        if self.connected.is_set():
            self.connected.clear()
            log.warning("Redis is away (%s): answers come from the prefilter", tell(fault))

    def _read(self, raw: Any) -> None:
        try:
            reply = wire.decode_reply(sealing.open_reply(self._ring, raw))
        except InvalidInput as error:
            log.warning("dropped an unreadable reply, its call will fall back at its deadline: %s", error)
            return
        self._deliver(reply)

    def _deliver(self, reply: Reply) -> None:
        future = self._waiting.pop(reply.job_id, None)
        if future is not None and not future.done():
            future.set_result(reply)
