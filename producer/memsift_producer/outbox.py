"""Enqueueing: one connection, many callers, one round trip for all that wait."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from redis.asyncio import Redis

from memsift_producer.affinity import Affinity, Favourite
from memsift_producer.cancellation import Marks
from memsift_schemas.clock import Clock
from memsift_schemas.keys import QUEUE_TTL_S
from memsift_schemas.redis_link import REDIS_FAULTS, tell
from memsift_schemas.result import Cause

log = logging.getLogger("memsift.producer")

# One command carries at most this many jobs (11 KB each), so that a burst does not become one huge write.
MAX_PER_PUSH = 64

# KEYS: queue, then of each own list: the list, the card of a worker that drains it.
# ARGV: the most that may wait in all of them, their TTL in ms, the most that may wait in each own list, then
#       of each message: its favourite's place among the own lists (0 for none, negative for a job that other
#       workers cannot take), the message.
# Pushes the first ones that fit. Who dies, or is busy, is nobody's favourite: in the queue whoever is free
# takes the job. Returns how many fitted and how long each list is now.
PUSH = """
local lists, own = {[0] = KEYS[1]}, (#KEYS - 1) / 2
local backlog = redis.call('LLEN', KEYS[1])
local depth, alive, pushed = {[0] = backlog}, {}, {}
local room, fitted = ARGV[1] - backlog, 0
for at = 1, own do
  lists[at], alive[at] = KEYS[2 * at], redis.call('EXISTS', KEYS[2 * at + 1]) == 1
  depth[at] = redis.call('LLEN', lists[at])
  room = room - depth[at]
end
for arg = own + 3, #ARGV, 2 do
  if fitted >= room then break end
  local at = math.abs(ARGV[arg])
  local busy = at > 0 and tonumber(ARGV[arg]) > 0 and depth[at] >= ARGV[at + 2] + backlog
  if busy or not (at == 0 or alive[at]) then at = 0 end
  depth[at] = redis.call('LPUSH', lists[at], ARGV[arg + 1])
  pushed[at], fitted = true, fitted + 1
end
for at in pairs(pushed) do
  if redis.call('PTTL', lists[at]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', lists[at], ARGV[2]) end
end
return {fitted, depth[0], unpack(depth)}
"""


@dataclass(slots=True, eq=False)
class Parcel:
    """A message on its way.

    Attributes:
        job_id: the job's.
        message: what is pushed.
        deadline: unix seconds on the server's clock.
        favourite: the runtime whose own list it should go to; None for the queue.
        taken: None once Redis has the message, else why it does not take it.
        sent: it may be in the queue.
    """

    job_id: str
    message: bytes = field(repr=False)
    deadline: float
    favourite: Favourite | None
    taken: asyncio.Future[Cause | None] = field(repr=False)
    sent: bool = False


class Outbox:
    """Pushes messages in the order in which they were given, as many in one round trip as are waiting.

    Where `most` jobs wait, in the queue and in all own lists together, more are refused. Marks of cancelled
    jobs follow their jobs on the same connection.

    Args:
        redis: the connection.
        queue: the queue.
        most: jobs that may wait.
        clock: the server's.
        affinity: knows the own lists.
        on_depths: is told after a push how long the queue is, and each own list by its key.
    """

    def __init__(
        self,
        redis: Redis,
        queue: str,
        *,
        most: int,
        clock: Clock,
        affinity: Affinity,
        on_depths: Callable[[int, Mapping[str, int]], None],
    ) -> None:
        self._push_script = redis.register_script(PUSH)
        self._queue = queue
        self._most = most
        self._clock = clock
        self._affinity = affinity
        self._on_depths = on_depths
        self._waiting: deque[Parcel] = deque()
        self._marks = Marks(redis, queue, clock)
        self._wake = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()

    def __len__(self) -> int:
        """Messages that have not been pushed yet."""
        return len(self._waiting)

    def put(self, job_id: str, message: bytes, deadline: float, favourite: Favourite | None = None) -> Parcel:
        """Hand over one message; await `taken` of what is returned, and `withdraw` it when nobody waits."""
        taken: asyncio.Future[Cause | None] = asyncio.get_running_loop().create_future()
        parcel = Parcel(job_id, message, deadline, favourite, taken)
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
        lists = self._affinity.lists
        keys = [self._queue]
        for own in lists:
            keys += (own.key, own.card)
        place = {own.key: at for at, own in enumerate(lists, 1)}
        told: list[int | bytes] = [self._most, ttl, *(own.most for own in lists)]
        for parcel in batch:
            told += (_place_of(parcel.favourite, place), parcel.message)
        try:
            fitted, *depths = await self._push_script(keys, told)
        except REDIS_FAULTS as fault:
            log.debug("not enqueued (%s): %d calls fall back", tell(fault), len(batch))
            return [Cause.REDIS_UNAVAILABLE] * len(batch)
        self._on_depths(depths[0], dict(zip(place, depths[1:], strict=True)))
        if fitted < len(batch):
            log.debug("the queue is full (%d jobs): %d calls fall back", sum(depths), len(batch) - fitted)
        return [None if at < fitted else Cause.QUEUE_FULL for at in range(len(batch))]

    async def _send_marks(self) -> None:
        count = len(self._marks)
        try:
            await self._marks.send()
        except REDIS_FAULTS as fault:
            log.debug("%d cancelled jobs are not marked (%s)", count, tell(fault))


def _place_of(favourite: Favourite | None, place: Mapping[str, int]) -> int:
    """As `PUSH` wants it; a list that is drained no more is no favourite."""
    if favourite is None:
        return 0
    at = place.get(favourite.own.key, 0)
    return at if favourite.spills else -at
