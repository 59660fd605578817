"""Which callers went away: their jobs are marked in Redis and cost no more model time."""

from __future__ import annotations

from collections.abc import Sequence

from redis.asyncio import Redis

from memsift_schemas.keys import cancel_key
from memsift_schemas.redis_link import REDIS_FAULTS

# A batch that runs longer than this is worth asking again whether anybody still waits for it.
LOOK_EVERY_S = 0.1


class Cancellations:
    """The marks of one queue; a producer sets one, with an expiry, when a job's caller has gone away."""

    def __init__(self, redis: Redis, queue: str) -> None:
        self._redis = redis
        self._queue = queue

    async def marked(self, job_ids: Sequence[str]) -> set[str]:
        """Which of these jobs nobody waits for, in one round trip; none of them while Redis is away."""
        if not job_ids:
            return set()
        try:
            marks = await self._redis.mget([cancel_key(self._queue, one) for one in job_ids])
        except REDIS_FAULTS:
            return set()
        return {one for one, mark in zip(job_ids, marks, strict=True) if mark is not None}
