"""One look at what a worker shares with all others: what waits, who is there, the breaker, Redis's memory."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from redis.asyncio import Redis

from memsift_schemas import waiting
from memsift_schemas.clock import Clock
from memsift_schemas.keys import breaker_key, own_key, own_lists_key, workers_key
from memsift_schemas.waiting import WORKER_LIVES_S, Waiting

log = logging.getLogger("memsift.worker")

# KEYS: index of workers, breaker, index of own lists, the queue, own lists. ARGV: since when a worker counts
# as present. What this user may not read (an older ACL) is left out.
_LOOK = f"""{waiting.LUA}
local function allowed(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then return '' end
  return answer or ''
end
local lists = {{}}
for at = 4, #KEYS do lists[#lists + 1] = waiting(KEYS[at]) end
return {{redis.call('ZCOUNT', KEYS[1], ARGV[1], '+inf'), allowed('HGET', KEYS[2], 'state'),
  redis.call('ZRANGE', KEYS[3], 0, -1), lists, allowed('INFO', 'memory')}}
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look told.

    Attributes:
        workers: how many are present.
        breaker_open: whether all frontends fall back.
        queue: what waits in the queue.
        own: what waits in each runtime's own list, by the runtime's name.
        memory_used: bytes; None where this user may not ask.
        memory_limit: `maxmemory`, else all memory of the server's machine.
    """

    workers: int
    breaker_open: bool
    queue: Waiting
    own: Mapping[str, Waiting] = field(default_factory=dict)
    memory_used: int | None = None
    memory_limit: int | None = None


class Look:
    """Looks, in one round trip; at an own list from the second look after it came.

    Args:
        redis: the connection.
        queue: the queue.
        clock: the server's.
    """

    def __init__(self, redis: Redis, queue: str, clock: Clock) -> None:
        self._script = redis.register_script(_LOOK)
        self._queue = queue
        self._clock = clock
        self._own: list[str] = []
        self._told = False

    async def once(self) -> Seen:
        """Look.

        Raises:
            RedisError: Redis is away.
        """
        names = self._own
        keys = [workers_key(self._queue), breaker_key(self._queue), own_lists_key(self._queue), self._queue]
        keys += [own_key(self._queue, name) for name in names]
        since = self._clock.time() - WORKER_LIVES_S
        workers, state, own, lists, info = await self._script(keys=keys, args=[since])
        self._own = [name.decode() for name in own]
        queue, *others = map(waiting.read, lists)
        memory = _memory(info)
        if not memory and not self._told:
            self._told = True
            log.warning("no metric of Redis's memory: its user needs +info, see ops/redis-acl.conf")
        return Seen(
            workers=int(workers),
            breaker_open=state == b"open",
            queue=queue,
            own=dict(zip(names, others, strict=True)),
            memory_used=memory.get("used_memory"),
            memory_limit=memory.get("maxmemory") or memory.get("total_system_memory"),
        )


def _memory(info: bytes) -> dict[str, int]:
    pairs = (line.partition(":") for line in info.decode("ascii", "replace").splitlines())
    return {name: int(value) for name, _, value in pairs if value.strip().isdigit()}
