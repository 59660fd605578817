"""saq: a blocking pop in the worker, pub/sub for the client (`apply` would look twice a second)."""

from __future__ import annotations

import contextlib
from typing import Any

import orjson
from saq import Queue

from .runtime import AsyncRuntime
from .setup import AT_ONCE, RESULT_LIVES_S, URL, check

_queue = Queue.from_url(URL, dump=lambda data: orjson.dumps(data).decode(), load=orjson.loads)
_runtime = AsyncRuntime()
MISSED_S = 1.0


async def rank(_context: dict[str, Any], *, job: dict[str, Any]) -> dict[str, Any]:
    """The task."""
    return await _runtime.rank(job)


settings = {"queue": _queue, "functions": [rank], "concurrency": AT_ONCE}


class SaqSystem:
    """`enqueue(...)` and `refresh`."""

    async def open(self) -> None:
        """Connect."""
        await _queue.connect()

    async def call(self, job: dict[str, Any]) -> bool:
        """Enqueue and wait, as its README shows."""
        queued = await _queue.enqueue("rank", ttl=RESULT_LIVES_S, job=job)
        assert queued is not None
        while not queued.completed:
            # A word that came before it listened is missed.
            with contextlib.suppress(TimeoutError):
                await queued.refresh(until_complete=MISSED_S)
        check(job, queued.result)
        return True

    async def enqueue(self, job: dict[str, Any]) -> None:
        """Enqueue only."""
        await _queue.enqueue("rank", ttl=RESULT_LIVES_S, job=job)

    def counted(self) -> tuple[str, str]:
        """Jobs leave this set when they are done."""
        return "zcard", "saq:default:incomplete"


SYSTEM = SaqSystem()
