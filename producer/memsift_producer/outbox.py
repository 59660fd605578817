"""Enqueueing: one connection, many callers, one round trip for all that wait."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from redis.asyncio import Redis

from memsift_producer.cancellation import Marks
from memsift_schemas.clock import Clock
from memsift_schemas.keys import QUEUE_TTL_S
from memsift_schemas.redis_link import REDIS_FAULTS, tell
from memsift_schemas.result import Cause

log = logging.getLogger("memsift.producer")

# One command carries at most this many jobs (11 KB each), so that a burst does not become one huge write.
MAX_PER_PUSH = 64

# KEYS: queue. ARGV: the most that it may hold, its TTL in ms, messages. Pushes the first ones that fit.
PUSH = """
local depth = redis.call('LLEN', KEYS[1])
local fits = math.min(tonumber(ARGV[1]) - depth, #ARGV - 2)
if fits <= 0 then return {0, depth} end
depth = redis.call('LPUSH', KEYS[1], unpack(ARGV, 3, fits + 2))
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return {fits, depth}
"""


@dataclass(slots=True, eq=False)
class Parcel:
    """A message on its way.

    Attributes:
        job_id: the job's.
        message: what is pushed.
        deadline: unix seconds on the server's clock.
        taken: None once Redis has the message, else why it does not take it.
        sent: it may be in the queue.
    """

    job_id: str
    message: bytes = field(repr=False)
    deadline: float
    taken: asyncio.Future[Cause | None] = field(repr=False)
    sent: bool = False


class Outbox:
    """Pushes messages in the order in which they were given, as many in one round trip as are waiting.

    A queue of `most` jobs refuses more. Marks of cancelled jobs follow their jobs on the same connection.
    """

    def __init__(
        self, redis: Redis, queue: str, *, most: int, clock: Clock, on_depth: Callable[[int], None]
    ) -> None:
        self._push_script = redis.register_script(PUSH)
        self._queue = queue
        self._most = most
        self._clock = clock
        self._on_depth = on_depth
        self._waiting: deque[Parcel] = deque()
        self._marks = Marks(redis, queue, clock)
        self._wake = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()

    def __len__(self) -> int:
        """Messages that have not been pushed yet."""
        return len(self._waiting)

    def put(self, job_id: str, message: bytes, deadline: float) -> Parcel:
        """Hand over one message; await `taken` of what is returned, and `withdraw` it when nobody waits."""
        taken: asyncio.Future[Cause | None] = asyncio.get_running_loop().create_future()
        parcel = Parcel(job_id, message, deadline, taken)
        self._waiting.append(parcel)
        self._rouse()
        return parcel

    def withdraw(self, parcel: Parcel, *, cancelled: bool) -> None:
        """Nobody waits for this one any more. Does nothing that waits.

        Args:
            parcel: from `put`. One that has not been pushed will not be.
            cancelled: its caller went away before its deadline: a worker should drop it.
        """
        parcel.taken.cancel()
        if cancelled and parcel.sent:
            self._marks.add(parcel.job_id, parcel.deadline)
            self._rouse()

    async def run(self) -> None:
        """Push for ever; ends by being cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                await self._push_some()
            if self._marks:
                await self._send_marks()
            if not self._wake.is_set():
                self.idle.set()

    def _rouse(self) -> None:
        self._wake.set()
        self.idle.clear()

    async def _push_some(self) -> None:
        batch: list[Parcel] = []
        while self._waiting and len(batch) < MAX_PER_PUSH:
            parcel = self._waiting.popleft()
            if not parcel.taken.done():
                parcel.sent = True
                batch.append(parcel)
        if not batch:
            return
        causes = await self._push(batch)
        for parcel, cause in zip(batch, causes, strict=True):
            parcel.sent = cause is None
            if not parcel.taken.done():
                parcel.taken.set_result(cause)

    async def _push(self, batch: Sequence[Parcel]) -> list[Cause | None]:
        """For each why it was not taken; None where it was."""
        left = max(parcel.deadline for parcel in batch) - self._clock.time()
        ttl = int((max(left, 0.0) + QUEUE_TTL_S) * 1e3)
        try:
            fitted, depth = await self._push_script(
                [self._queue], [self._most, ttl, *(parcel.message for parcel in batch)]
            )
        except REDIS_FAULTS as fault:
            log.debug("not enqueued (%s): %d calls fall back", tell(fault), len(batch))
            return [Cause.REDIS_UNAVAILABLE] * len(batch)
        self._on_depth(depth)
        if fitted < len(batch):
            log.debug("the queue is full (%d jobs): %d calls fall back", depth, len(batch) - fitted)
        return [None if at < fitted else Cause.QUEUE_FULL for at in range(len(batch))]

    async def _send_marks(self) -> None:
        count = len(self._marks)
        try:
            await self._marks.send()
        except REDIS_FAULTS as fault:
            log.debug("%d cancelled jobs are not marked (%s)", count, tell(fault))
