"""arq with orjson; worker and client both look at Redis again and again."""

from __future__ import annotations

from typing import Any, ClassVar

import orjson
from arq import create_pool
from arq.connections import ArqRedis, RedisSettings

from .runtime import AsyncRuntime
from .setup import AT_ONCE, LOOK_EVERY_S, RESULT_LIVES_S, URL, check

_redis = RedisSettings.from_dsn(URL)


async def _startup(context: dict[str, Any]) -> None:
    context["runtime"] = AsyncRuntime()


async def rank(context: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """The task."""
    answer: dict[str, Any] = await context["runtime"].rank(job)
    return answer


class WorkerSettings:
    """`arq peer_side.arq_system.WorkerSettings`."""

    functions: ClassVar[list[Any]] = [rank]
    on_startup = _startup
    redis_settings = _redis
    max_jobs = AT_ONCE
    poll_delay = LOOK_EVERY_S
    keep_result = RESULT_LIVES_S
    job_serializer = orjson.dumps
    job_deserializer = orjson.loads


class ArqSystem:
    """`enqueue_job(...)` and `result`."""

    def __init__(self) -> None:
        self._pool: ArqRedis | None = None

    async def open(self) -> None:
        """Connect."""
        self._pool = await create_pool(_redis, job_serializer=orjson.dumps, job_deserializer=orjson.loads)

    async def call(self, job: dict[str, Any]) -> bool:
        """Enqueue and wait."""
        queued = await self._enqueued(job)
        check(job, await queued.result(timeout=30, poll_delay=LOOK_EVERY_S))
        return True

    async def enqueue(self, job: dict[str, Any]) -> None:
        """Enqueue only."""
        await self._enqueued(job)

    async def _enqueued(self, job: dict[str, Any]) -> Any:
        assert self._pool is not None
        return await self._pool.enqueue_job("rank", job)

    def counted(self) -> tuple[str, str]:
        """A key for each result."""
        return "keys", "arq:result:*"


SYSTEM = ArqSystem()
