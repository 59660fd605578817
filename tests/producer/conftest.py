"""A worker in the test's own event loop, which answers as it is told."""

import asyncio

import pytest
from redis.asyncio import Redis

from memsift_producer import Reranker
from memsift_schemas import Cause, Ranked, Refusal, RerankResult, Source, message, wire
from memsift_schemas.redis_link import end


class TestWorker:
    """Pops jobs and answers each by `answer(job)`: bytes, a reply, or None for silence."""

    __test__ = False

    def __init__(self, url, queue):
        self._redis = Redis.from_url(url)
        self._queue = queue
        self.jobs = []
        self.answer = self.reversed

    @staticmethod
    def reversed(job):
        ids = [memory.id for memory in job.candidates][::-1]
        ranking = tuple(Ranked(id=one, score=-at) for at, one in enumerate(ids))
        return RerankResult(job_id=job.id, ranking=ranking, source=Source.MODEL, timings_ms={"rank": 1.0})

    @staticmethod
    def refuse(job):
        return Refusal(job_id=job.id, cause=Cause.RUNTIME_GARBAGE)

    async def run(self):
        while True:
            popped = await self._redis.brpop([self._queue], timeout=0.2)
            if popped:
                job = wire.load_job(message.read(popped[1]).job)
                self.jobs.append(job)
                reply = self.answer(job)
                if reply is not None:
                    raw = reply if isinstance(reply, bytes) else wire.encode_reply(reply)
                    await self._redis.rpush(job.reply_to, raw)

    async def close(self):
        await self._redis.aclose()


@pytest.fixture
async def worker(valkey_url, queue):
    one = TestWorker(valkey_url, queue)
    task = asyncio.create_task(one.run())
    yield one
    await end([task])
    await one.close()


@pytest.fixture
async def reranker(valkey_url, queue):
    async with Reranker.from_url(valkey_url, queue=queue, deadline_ms=5_000) as one:
        yield one
