"""Jobs of a worker that died are given back while they still have time left. Off unless asked for.

A pop also writes the batch into a list of this worker's, in the same script; the reply pipeline removes it.
A process that is killed leaves its lists and a lease that runs out: whoever sees that first takes the lists.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
from collections.abc import Callable
from typing import Any

from redis.asyncio import Redis

from memsift_schemas.clock import Clock
from memsift_schemas.keys import QUEUE_TTL_S
from memsift_schemas.redis_link import BLOCK_S, REDIS_FAULTS
from memsift_schemas.sealing import KeyRing
from memsift_workers.drain.delivery import Poison, receive

log = logging.getLogger("memsift.worker")

LOOK_EVERY_S = 0.5
LEASE_MS = 2_000
# A record outlives every deadline of a chat; it goes by itself where no worker is left to take it.
RECORD_TTL_MS = 120_000

# KEYS: queue, staging list, this worker's set of records, new record, set of workers.
# ARGV: most items, time to live, worker.
_POP = """
local items = redis.call('LRANGE', KEYS[2], 0, -1)
if #items > 0 then redis.call('DEL', KEYS[2]) end
if #items < tonumber(ARGV[1]) then
  local more = redis.call('RPOP', KEYS[1], ARGV[1] - #items)
  if more then for _, item in ipairs(more) do items[#items + 1] = item end end
end
if #items == 0 then return items end
redis.call('RPUSH', KEYS[4], unpack(items))
redis.call('PEXPIRE', KEYS[4], ARGV[2])
redis.call('SADD', KEYS[3], KEYS[4])
redis.call('PEXPIRE', KEYS[3], ARGV[2])
redis.call('SADD', KEYS[5], ARGV[3])
return items
"""
# KEYS: the dead worker's lease, its staging list, its set of records, set of workers. ARGV: the worker.
_CLAIM = """
if redis.call('EXISTS', KEYS[1]) == 1 then return {} end
local items = redis.call('LRANGE', KEYS[2], 0, -1)
for _, record in ipairs(redis.call('SMEMBERS', KEYS[3])) do
  for _, item in ipairs(redis.call('LRANGE', record, 0, -1)) do items[#items + 1] = item end
  redis.call('UNLINK', record)
end
redis.call('UNLINK', KEYS[2], KEYS[3])
redis.call('SREM', KEYS[4], ARGV[1])
return items
"""
# KEYS: the mark that this job was given back, queue. ARGV: the item, its time left, the queue's time to live.
_GIVE_BACK = """
if not redis.call('SET', KEYS[1], 1, 'NX', 'PX', ARGV[2]) then return 0 end
redis.call('RPUSH', KEYS[2], ARGV[1])
if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[2], ARGV[3]) end
return 1
"""


def forget(record: str) -> Callable[[Any], None]:
    """What puts a record's removal into the pipeline of its replies."""

    def add(pipeline: Any) -> None:
        pipeline.srem(record.rpartition(":")[0], record)
        pipeline.unlink(record)

    return add


class Rescue:
    """Recorded pops of one worker process, and its look at the others."""

    def __init__(self, redis: Redis, queue: str, clock: Clock, *, ring: KeyRing | None = None) -> None:
        self._redis = redis
        self._queue = queue
        self._clock = clock
        self._ring = ring
        # Not the host's name: a worker that is restarted in time must not hide its predecessor's death.
        self._me = secrets.token_hex(8)
        self._numbers = itertools.count()
        self._pop = redis.register_script(_POP)
        self._claim = redis.register_script(_CLAIM)
        self._return = redis.register_script(_GIVE_BACK)

    async def pop(self, most: int) -> tuple[list[bytes], str]:
        """Up to `most` items and the name of their record; waits as the plain pop does.

        Raises:
            RedisError: the server is away.
        """
        items, record = await self._take(most)
        if items:
            return items, record
        staging = self._staging(self._me)
        # redis-py's type says whole seconds; the server takes fractions.
        moved = await self._redis.blmove(self._queue, staging, BLOCK_S, "RIGHT", "LEFT")  # type: ignore[arg-type]
        if moved is None:
            return [], ""
        await self._redis.pexpire(staging, RECORD_TTL_MS)
        return await self._take(most)

    async def keep_watch(self) -> None:
        """Renew this worker's lease and give back the jobs of those whose lease has run out, for ever."""
        while True:
            try:
                await self.look()
            except REDIS_FAULTS as fault:
                log.debug("no look at dead workers (%s)", type(fault).__name__)
            await asyncio.sleep(LOOK_EVERY_S)

    async def look(self) -> int:
        """One round of `keep_watch`; how many jobs were given back.

        Raises:
            RedisError: the server is away.
        """
        await self._redis.set(self._lease(self._me), 1, px=LEASE_MS)
        given_back = 0
        workers: Any = await self._redis.smembers(self._workers)
        for worker in (name.decode() for name in workers if name.decode() != self._me):
            keys = [self._lease(worker), self._staging(worker), self._records(worker), self._workers]
            items = await self._claim(keys=keys, args=[worker])
            given_back += sum([await self._give_back(item) for item in items])
        if given_back:
            log.warning("%d jobs of a worker that died are given back", given_back)
        return given_back

    async def _take(self, most: int) -> tuple[list[bytes], str]:
        records = self._records(self._me)
        record = f"{records}:{next(self._numbers)}"
        keys = [self._queue, self._staging(self._me), records, record, self._workers]
        return list(await self._pop(keys=keys, args=[most, RECORD_TTL_MS, self._me])), record

    async def _give_back(self, item: bytes) -> bool:
        """At the queue's head; once only, because the job may be what its worker died of."""
        now = self._clock.time()
        try:
            delivery = receive(item, queue=self._queue, now=now, ring=self._ring)
        except Poison:
            return False
        if delivery.job is None or delivery.refused is not None:
            return False
        left_ms = max(int((delivery.job.deadline - now) * 1e3), 1)
        keys = [f"{self._queue}:rescued:{delivery.job.id}", self._queue]
        return bool(await self._return(keys=keys, args=[item, left_ms, left_ms + int(QUEUE_TTL_S * 1e3)]))

    @property
    def _workers(self) -> str:
        return f"{self._queue}:rescue"

    def _records(self, worker: str) -> str:
        return f"{self._queue}:rescue:{worker}"

    def _staging(self, worker: str) -> str:
        return f"{self._queue}:rescue:{worker}:staging"

    def _lease(self, worker: str) -> str:
        return f"{self._queue}:rescue:{worker}:alive"
