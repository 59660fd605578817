"""A worker's card, which says who is here and what it can do; and the own lists of those who have gone."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from typing import Any

import orjson
from redis.asyncio import Redis

from memsift_schemas.clock import Clock
from memsift_schemas.keys import own_key, own_lists_key, worker_key, workers_key
from memsift_schemas.redis_link import REDIS_FAULTS

log = logging.getLogger("memsift.worker")

# The presence key says "I am here and warm"; it dies with the worker within its TTL.
PRESENCE_EVERY_S = 1.0
PRESENCE_TTL_S = 5
# A worker that is gone for this long leaves the index of workers.
FORGOTTEN_AFTER_S = 60.0
# An own list that nobody has said he drains for this long is given back: the next look of another worker is
# then within the life of the dead one's card.
SILENT_S = PRESENCE_TTL_S - PRESENCE_EVERY_S
# How long an ending worker tries to take its presence back; it runs out by itself.
LAST_WORDS_S = 0.5

# KEYS: index of own lists, the own list, the queue. ARGV: the runtime's name, from when on a list that was
# drained is not silent. The oldest job of the list becomes the next one that is popped off the queue.
_GIVE_BACK = """
local drained = redis.call('ZSCORE', KEYS[1], ARGV[1])
if drained and tonumber(drained) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZREM', KEYS[1], ARGV[1])
local jobs, ttl = redis.call('LLEN', KEYS[2]), redis.call('PTTL', KEYS[2])
for _ = 1, jobs do redis.call('LMOVE', KEYS[2], KEYS[3], 'LEFT', 'RIGHT') end
if jobs > 0 and redis.call('PTTL', KEYS[3]) < ttl then redis.call('PEXPIRE', KEYS[3], ttl) end
return jobs
"""


class Presence:
    """Tells frontends that this worker is there, and gives back what dead workers leave in their own lists.

    Args:
        redis: the connection.
        queue: the queue.
        hostname: this worker's name.
        clock: the server's.
        runtime: the runtime whose own list this worker drains; empty for none.
    """

    def __init__(self, redis: Redis, queue: str, *, hostname: str, clock: Clock, runtime: str = "") -> None:
        self._redis = redis
        self._queue = queue
        self._hostname = hostname
        self._clock = clock
        self._runtime = runtime
        self._here = False
        self._paused = False
        self._script = redis.register_script(_GIVE_BACK)

    async def tell(self, card: dict[str, Any], *, fit: bool = True, paused: bool = False) -> None:
        """Say once more that this worker is there.

        Args:
            card: what to say of it.
            fit: whether its runtime answers. While it does not, sessions go to others.
            paused: whether it takes nothing: what waits in its own list is given to others at once.

        Raises:
            RedisError: the server is away.
        """
        self._here = True
        now = self._clock.time()
        runtime = self._runtime if fit and not paused else ""
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.set(
            worker_key(self._queue, self._hostname), orjson.dumps({**card, "own": runtime}), ex=PRESENCE_TTL_S
        )
        # Frontends find the card by this index.
        pipeline.zadd(workers_key(self._queue), {self._hostname: now})
        pipeline.zremrangebyscore(workers_key(self._queue), "-inf", now - FORGOTTEN_AFTER_S)
        if runtime:
            pipeline.zadd(own_lists_key(self._queue), {runtime: now})
        pipeline.zrangebyscore(own_lists_key(self._queue), "-inf", f"({now - SILENT_S}")
        *_, silent = await pipeline.execute()
        for name in silent:
            await self._give_back(name.decode(), since=now - SILENT_S)
        if self._runtime and paused:
            # Frontends push there until they have read this card. Who else drains it says so every second.
            since = now - 2 * PRESENCE_EVERY_S if self._paused else math.inf
            await self._give_back(self._runtime, since=since)
        self._paused = paused

    async def leave(self) -> None:
        """Take the card back and then give the own list's jobs to the others; nothing comes after them.

        Where other workers drain the same list, what they find in the queue serves them as well.
        """
        if not self._here:
            return
        self._here = False
        with contextlib.suppress(*REDIS_FAULTS):
            async with asyncio.timeout(LAST_WORDS_S):
                await self._redis.delete(worker_key(self._queue, self._hostname))
                await self._redis.zrem(workers_key(self._queue), self._hostname)
                if self._runtime:
                    await self._give_back(self._runtime, since=math.inf)

    async def _give_back(self, runtime: str, *, since: float) -> None:
        keys = [own_lists_key(self._queue), own_key(self._queue, runtime), self._queue]
        jobs = await self._script(keys=keys, args=[runtime, since])
        if jobs:
            log.info("%d jobs that waited for one runtime are anybody's now", jobs)
