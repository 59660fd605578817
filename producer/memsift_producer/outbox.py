"""Enqueueing: one connection, many callers, one `LPUSH` for all that wait."""

from __future__ import annotations

import asyncio
import logging

from redis.asyncio import Redis

from memsift_schemas.redis_link import REDIS_FAULTS

log = logging.getLogger("memsift.producer")

# One command carries at most this many jobs (11 KB each), so that a burst does not become one huge write.
MAX_PER_PUSH = 64


class Outbox:
    """Pushes messages in the order in which they were given, as many in one round trip as are waiting."""

    def __init__(self, redis: Redis, queue: str) -> None:
        self._redis = redis
        self._queue = queue
        self._waiting: asyncio.Queue[tuple[bytes, asyncio.Future[bool]]] = asyncio.Queue()

    def put(self, message: bytes) -> asyncio.Future[bool]:
        """Hand over one message.

        Returns:
            A future: True once Redis has the message, False when it cannot take it (away, or full).
            Cancelling it takes the message back, if it is not already on its way.
        """
        taken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.put_nowait((message, taken))
        return taken

    async def run(self) -> None:
        """Push for ever; ends by being cancelled."""
        while True:
            batch = [await self._waiting.get()]
            while not self._waiting.empty() and len(batch) < MAX_PER_PUSH:
                batch.append(self._waiting.get_nowait())
            wanted = [item for item in batch if not item[1].done()]
            if not wanted:
                continue
            pushed = await self._push([message for message, _ in wanted])
            for _, taken in wanted:
                if not taken.done():
                    taken.set_result(pushed)

    async def _push(self, messages: list[bytes]) -> bool:
        try:
            await self._redis.lpush(self._queue, *messages)
        except REDIS_FAULTS as fault:
            log.debug("not enqueued (%s): %d calls fall back", type(fault).__name__, len(messages))
            return False
        return True
