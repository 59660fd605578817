"""streaq on a Redis stream; its client is woken through Redis."""

from __future__ import annotations

from typing import Any

import orjson
from streaq import Worker

from .runtime import AsyncRuntime
from .setup import AT_ONCE, RESULT_LIVES_S, URL, check

worker = Worker(
    redis_url=URL,
    concurrency=AT_ONCE,
    serializer=lambda data: orjson.dumps(data).decode(),
    deserializer=orjson.loads,
)
_runtime = AsyncRuntime()


@worker.task(ttl=RESULT_LIVES_S, name="rank")
async def rank(job: dict[str, Any]) -> dict[str, Any]:
    """The task."""
    return await _runtime.rank(job)


class StreaqSystem:
    """`enqueue(...)` and `result`."""

    async def open(self) -> None:
        """Connect; for as long as this process lives."""
        await worker.__aenter__()

    async def call(self, job: dict[str, Any]) -> bool:
        """Enqueue and wait."""
        task = await rank.enqueue(job)
        check(job, (await task.result(timeout=30)).result)
        return True

    async def enqueue(self, job: dict[str, Any]) -> None:
        """Enqueue only."""
        await rank.enqueue(job)

    def counted(self) -> tuple[str, str]:
        """A key for each result."""
        return "keys", "streaq:*results:*"


SYSTEM = StreaqSystem()

if __name__ == "__main__":
    # As `streaq run` does, without a line of log for each task.
    worker.run_sync()
