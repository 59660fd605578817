"""Taking jobs off the queue and off the own list of this worker's runtime; neither starves the other."""

from __future__ import annotations

from typing import Any

from redis.asyncio import Redis

from memsift_schemas.keys import own_key
from memsift_schemas.redis_link import BLOCK_S

# Of all places at least this share is the queue's, while jobs wait there: what found no room in an own list,
# and what has no favourite. Jobs in an own list are cheaper, since the runtime has their KV. Measured as
# `affinity.ROOM` of the frontend, at 90% load: with .25 74% of the jobs met their KV and the backlog grew,
# with .1 94% and it did not; with .05 jobs in the queue waited for seconds.
QUEUE_SHARE = 0.1

# KEYS: the queue, the own list if there is one. ARGV: the most, how many places are the queue's first.
_TAKE = """
local most, items = tonumber(ARGV[1]), {}
local function take(key, count)
  if not key or count <= 0 then return end
  for _, item in ipairs(redis.call('RPOP', key, count) or {}) do items[#items + 1] = item end
end
take(KEYS[1], tonumber(ARGV[2]))
take(KEYS[2], most - #items)
take(KEYS[1], most - #items)
return items
"""


class Taking:
    """Pops list items, oldest first within each list.

    Args:
        redis: the connection.
        queue: the queue.
        runtime: whose own list is drained too; empty for none.
    """

    def __init__(self, redis: Redis, queue: str, runtime: str = "") -> None:
        self._redis = redis
        # The own list first: an idle worker leaves to others what is not its.
        self._lists = [own_key(queue, runtime), queue] if runtime else [queue]
        self._script = redis.register_script(_TAKE)
        self._owed = 0.0

    @property
    def has_two(self) -> bool:
        """Whether jobs may wait in the one list while the other is taken from."""
        return len(self._lists) > 1

    async def wait(self, most: int) -> list[bytes]:
        """Up to `most` items of the first list that has any; none when there are none for `BLOCK_S`.

        Raises:
            RedisError: the server is away.
        """
        popped: Any = await self._redis.blmpop(
            BLOCK_S, len(self._lists), *self._lists, direction="RIGHT", count=most
        )
        return list(popped[1]) if popped else []

    async def at_once(self, most: int) -> list[bytes]:
        """Up to `most` items of all lists, without a wait.

        Raises:
            RedisError: the server is away.
        """
        # With room for one, every tenth.
        self._owed += most * QUEUE_SHARE
        share = int(self._owed)
        self._owed -= share
        items: Any = await self._script(self._lists[::-1], [most, share])
        return list(items)
