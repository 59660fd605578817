"""taskiq on a Redis stream, with uvloop and orjson; its client looks for results again and again."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import uvloop
from taskiq.serializers import ORJSONSerializer
from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

from .runtime import AsyncRuntime
from .setup import LOOK_EVERY_S, RESULT_LIVES_S, URL, check

_results: RedisAsyncResultBackend[Any] = RedisAsyncResultBackend(
    URL, result_ex_time=RESULT_LIVES_S, prefix_str="result", serializer=ORJSONSerializer()
)
# From the stream's beginning: jobs that were sent before the worker came count too.
broker = (
    RedisStreamBroker(URL, consumer_id="0", maxlen=50_000)
    .with_result_backend(_results)
    .with_serializer(ORJSONSerializer())
)
_runtime = AsyncRuntime()


@broker.task(task_name="rank")
async def rank(job: dict[str, Any]) -> dict[str, Any]:
    """The task."""
    return await _runtime.rank(job)


class TaskiqSystem:
    """`kiq(...)` and `wait_result`."""

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Its documentation recommends uvloop, on both sides."""
        uvloop.run(work)

    async def open(self) -> None:
        """Connect."""
        await broker.startup()

    async def call(self, job: dict[str, Any]) -> bool:
        """Enqueue and wait."""
        task = await rank.kiq(job)
        result = await task.wait_result(check_interval=LOOK_EVERY_S, timeout=30)
        check(job, result.return_value)
        return True

    async def enqueue(self, job: dict[str, Any]) -> None:
        """Enqueue only."""
        await rank.kiq(job)

    def counted(self) -> tuple[str, str]:
        """A key for each result."""
        return "keys", "result:*"


SYSTEM = TaskiqSystem()
