"""Warm-ups on their way: sent when nothing else waits, and never waited for."""

from __future__ import annotations

import asyncio
import logging

from redis.asyncio import Redis

from memsift_producer.affinity import Affinity
from memsift_producer.question import WARM_S
from memsift_schemas.job import RerankJob
from memsift_schemas.keys import warm_key
from memsift_schemas.redis_link import REDIS_FAULTS, tell

log = logging.getLogger("memsift.producer")

# More conversations than this do not open at once and find their workers idle within seconds.
MOST = 64
# A round trip takes a millisecond; a call does not wait longer than this for a Redis that does not answer.
SEND_WAIT_S = 0.2

# KEYS: list of warm-ups, queue, and for one runtime alone: its own list, the card of a worker that drains it.
# ARGV: the most, time to live in ms, the message. Where ranked jobs wait, there is no time for this.
_PUSH = """
if redis.call('LLEN', KEYS[2]) > 0 or redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
if KEYS[3] and (redis.call('LLEN', KEYS[3]) > 0 or redis.call('EXISTS', KEYS[4]) == 0) then return 0 end
redis.call('LPUSH', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
"""


class WarmUps:
    """Pushes warm-ups to where their session's questions will go.

    Args:
        redis: the connection.
        queue: the queue.
        affinity: knows the sessions' favourites.
    """

    def __init__(self, redis: Redis, queue: str, *, affinity: Affinity) -> None:
        self._push = redis.register_script(_PUSH)
        self._queue = queue
        self._affinity = affinity
        self._under_way: set[asyncio.Task[bool]] = set()

    async def send(self, job: RerankJob, message: bytes) -> bool:
        """Whether Redis took it, as far as that is known soon; never raises for a fault."""
        favourite = self._affinity.favourite(job)
        keys = [warm_key(self._queue), self._queue]
        if favourite is not None:
            keys = [warm_key(self._queue, favourite.own.runtime), self._queue]
            keys += (favourite.own.key, favourite.own.card)
        sending = asyncio.create_task(self._send(keys, message))
        self._under_way.add(sending)
        sending.add_done_callback(self._under_way.discard)
        # A command that is cancelled would cost all who share the connection theirs.
        await asyncio.wait({sending}, timeout=SEND_WAIT_S)
        return sending.done() and sending.result()

    async def _send(self, keys: list[str], message: bytes) -> bool:
        try:
            return bool(await self._push(keys, [MOST, int(WARM_S * 1e3), message]))
        except REDIS_FAULTS as fault:
            log.debug("a warm-up is not sent (%s)", tell(fault))
            return False
