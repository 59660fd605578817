"""How many jobs all workers together may have in one runtime: a semaphore in Redis whose leases expire."""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from memsift_schemas.clock import Clock
from memsift_schemas.redis_link import REDIS_FAULTS, tell
from memsift_workers.flow.runtime_name import digest

log = logging.getLogger("memsift.worker")

# Between two looks at a runtime that is full; a batch takes tens of milliseconds at least, and with 20 ms
# between looks a storm left a sixteenth more of the runtime idle.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.002, 0.008
# A lease outlives the last deadline of its jobs by this; then its worker is dead, and its place is free.
LEASE_MARGIN_S = 1.0
# Who is next stays it by asking again, at least every LONGEST_PAUSE_S; a dead one is forgotten after this.
NEXT_MS = 200
# A holder of more than the whole limit gets in alone. Members are `<random>:<jobs>`, scores expiry times. Who
# does not fit takes the places that there are and is next: whoever comes later waits for it, or small batches
# would pass it for ever. To wait for all places at once would keep the rest idle: `memsift chaos --scenario
# overload` got 58% of the runtime's capacity so, and gets 86-88%.
# KEYS: the semaphore, who is next. ARGV: who, member, jobs, limit, ms that the lease lives, ms that who does
# not fit stays next. Returns the places that were given.
_ENTER = """
local head = redis.call('GET', KEYS[2])
if head and head ~= ARGV[1] then return 0 end
local want = tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local used = 0
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  used = used + tonumber(string.match(member, ':(%d+)$'))
end
local given = want
if used > 0 then given = math.min(want, tonumber(ARGV[4]) - used) end
if given < want then
  if tonumber(ARGV[6]) > 0 then redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[6]) end
  if given < 1 then return 0 end
else
  redis.call('DEL', KEYS[2])
end
redis.call('ZADD', KEYS[1], now + ARGV[5], ARGV[2] .. ':' .. given)
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[5]) then redis.call('PEXPIRE', KEYS[1], ARGV[5]) end
return given
"""


def runtime_key(queue: str, url: str) -> str:
    """The semaphore of one runtime."""
    return f"{queue}:runtime:{digest(url)}"


@dataclass(frozen=True, slots=True)
class Lease:
    """A place in the runtime; without a `member` it was given while Redis was away.

    Attributes:
        key: the semaphore.
        jobs: how many it is for.
        member: this lease in it.
    """

    key: str
    jobs: int
    member: str = ""

    def give_back(self, pipeline: Any) -> None:
        """Put the command that gives it back into a pipeline that is sent anyway."""
        if self.member:
            pipeline.zrem(self.key, self.member)


class SharedLimit:
    """Places in one runtime, shared by the workers of one queue; who waits is not passed for ever.

    Args:
        redis: the connection.
        key: see `runtime_key`.
        limit: asked each time, because it may follow the runtime's latency.
        clock: for the wait.
    """

    def __init__(self, redis: Redis, key: str, *, limit: Callable[[], int], clock: Clock) -> None:
        self._key = key
        self._next = f"{key}:next"
        self._limit = limit
        self._clock = clock
        self._redis = redis
        self._enter = redis.register_script(_ENTER)
        self._alone = False

    async def enter_at_once(self, *, hold_s: float) -> Lease | None:
        """A place for one job if there is one just now; None otherwise, also while Redis is away."""
        try:
            return await self._ask("", 1, hold_s=hold_s, next_ms=0)
        except REDIS_FAULTS:
            return None

    async def leave(self, lease: Lease) -> None:
        """Give a place back in a round trip of its own; without Redis it runs out by itself."""
        pipeline = self._redis.pipeline(transaction=False)
        lease.give_back(pipeline)
        try:
            await pipeline.execute()
        except REDIS_FAULTS as fault:
            log.debug("a place runs out by itself (%s)", type(fault).__name__)

    async def enter(self, jobs: int, *, until: float, hold_s: float = math.inf) -> AsyncIterator[Lease]:
        """Places for all of these jobs, in parts as they come free; one round trip when there are some.

        While Redis is away each worker has its own limit alone. When there was no place by `until`, the
        jobs are past their deadlines, which their handler notices: what is given then is no place.

        Args:
            jobs: how many will be in the runtime.
            until: the last of their deadlines, unix seconds.
            hold_s: none will be in the runtime for longer than this.
        """
        name = secrets.token_hex(8)
        while jobs:
            lease = await self._wait(name, jobs, until=until, hold_s=hold_s)
            jobs -= lease.jobs
            yield lease

    async def _wait(self, name: str, jobs: int, *, until: float, hold_s: float) -> Lease:
        pause = FIRST_PAUSE_S
        while (left := until - self._clock.time()) > 0:
            try:
                given = await self._ask(name, jobs, hold_s=min(left, hold_s), next_ms=NEXT_MS)
            except REDIS_FAULTS as fault:
                if not self._alone:
                    log.warning("each worker limits itself alone: Redis does not share it (%s)", tell(fault))
                self._alone = True
                break
            self._alone = False
            if given:
                return given
            await asyncio.sleep(min(pause, left))
            pause = min(pause * 2, LONGEST_PAUSE_S)
        return Lease(self._key, jobs)

    async def _ask(self, name: str, jobs: int, *, hold_s: float, next_ms: int) -> Lease | None:
        member = secrets.token_hex(8)
        lease_ms = int((hold_s + LEASE_MARGIN_S) * 1e3)
        given: int = await self._enter(
            keys=[self._key, self._next], args=[name, member, jobs, self._limit(), lease_ms, next_ms]
        )
        return Lease(self._key, given, f"{member}:{given}") if given else None
