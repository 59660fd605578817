"""memsift itself, by the same driver: `Reranker.rerank`, with validation, prefilter and fallback."""

from __future__ import annotations

import time
import uuid
from typing import Any

from redis.asyncio import Redis

from memsift_producer import Reranker, preparation
from memsift_producer.prefilter import Prefiltered, prefilter
from memsift_schemas import message, settings, wire
from memsift_schemas.keys import reply_key
from memsift_schemas.result import Source
from memsift_schemas.settings import ProducerSettings

from .setup import URL


class MemsiftSystem:
    """`Reranker.rerank`."""

    def __init__(self) -> None:
        self._settings = settings.load(ProducerSettings, redis_url=URL)
        self._reranker = Reranker(self._settings)
        self._redis = Redis.from_url(URL)
        self._replies = reply_key(self._settings.queue, uuid.uuid4().hex)
        self.prefilter_cpu_s = 0.0
        # Where the producer looks its prefilter up.
        preparation.prefilter = self._timed  # type: ignore[attr-defined]

    def _timed(self, *arguments: Any, **options: Any) -> Prefiltered:
        began = time.thread_time()
        found = prefilter(*arguments, **options)
        self.prefilter_cpu_s += time.thread_time() - began
        return found

    async def open(self) -> None:
        """Connect."""
        await self._reranker.open()

    async def call(self, job: dict[str, Any]) -> bool:
        """Ask, and wait for the answer."""
        reranking = await self._reranker.rerank(query=job["query"], memories=job["candidates"])
        if len(reranking.result.ranking) != len(job["candidates"]):
            raise ValueError("this is the answer to something else")
        return reranking.source is Source.MODEL

    async def enqueue(self, job: dict[str, Any]) -> None:
        """Push the message that `rerank` would push; while no worker is there `rerank` would not."""
        asked = wire.load_job({**job, "reply_to": self._replies})
        queue = self._settings.queue
        await self._redis.lpush(queue, message.build(asked, wire.encode_job(asked), queue))

    def counted(self) -> tuple[str, str]:
        """A reply for each job."""
        return "llen", self._replies


SYSTEM = MemsiftSystem()
