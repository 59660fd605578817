"""Marks for jobs whose caller went away, so that no worker spends model time on them."""

from __future__ import annotations

from redis.asyncio import Redis

from memsift_schemas.clock import Clock
from memsift_schemas.keys import cancel_key

# A script rather than a pipeline, which would want a connection of its own.
MARK = "for at, key in ipairs(KEYS) do redis.call('SET', key, 1, 'PX', ARGV[at]) end"


class Marks:
    """Collects marks and sets them in one round trip. Best effort: a lost one costs model time, no answer."""

    def __init__(self, redis: Redis, queue: str, clock: Clock) -> None:
        self._script = redis.register_script(MARK)
        self._queue = queue
        self._clock = clock
        self._waiting: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, job_id: str, deadline: float) -> None:
        """Mark this job until its deadline, in unix seconds; after it the worker drops it anyway."""
        self._waiting[job_id] = deadline

    async def send(self) -> None:
        """Set all that wait.

        Raises:
            RedisError: they are lost.
        """
        waiting, self._waiting = self._waiting, {}
        now = self._clock.time()
        left_ms = {job_id: int((deadline - now) * 1e3) for job_id, deadline in waiting.items()}
        marks = {cancel_key(self._queue, job_id): left for job_id, left in left_ms.items() if left > 0}
        if marks:
            await self._script(list(marks), list(marks.values()))
