"""Redis holds no plain memory: its keys, its traffic and its process memory are searched for planted text."""

import asyncio
import contextlib
import re
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from redis.asyncio import Redis

from memsift_ops.stack import Stack
from memsift_producer import Reranker
from memsift_schemas import Cause, Memory, Source
from memsift_schemas.clock import SystemClock
from memsift_schemas.settings import WorkerSettings
from memsift_workers.drain.batch import BatchHandler
from memsift_workers.drain.popped import Popped
from memsift_workers.rankers.base import Scores

pytestmark = pytest.mark.stack

KEYS = "k1:" + "5a" * 32
# One marker per place where a user's words travel; put together here, so that no argument list holds them.
PLACES = ("memory", "query", "turn", "activity", "reason", "user")
MARKERS = {place: f"planted-{place}-" + "qxz" * 3 for place in PLACES}


class Quoting:
    """A ranker whose reason repeats what it has read."""

    name, model = "local", "fake"

    async def rank(self, jobs, *, timeout):
        reason = MARKERS["reason"]
        return [Scores(values=tuple(range(len(one.candidates))), reason=reason) for one in jobs]


class Silent:
    def send(self, kind, **fields):
        pass


async def ask(reranker):
    memories = [
        Memory(id=f"m{at}", text=f"{MARKERS['memory']} {at}", created_at=datetime.now(UTC)) for at in (1, 2)
    ]
    return await reranker.rerank(
        query=MARKERS["query"],
        memories=memories,
        user=MARKERS["user"],
        turns=[{"role": "user", "text": MARKERS["turn"]}],
        activity=[MARKERS["activity"]],
    )


async def stored(redis):
    """Every value of every key."""
    read = {
        b"list": lambda key: redis.lrange(key, 0, -1),
        b"string": redis.get,
        b"hash": redis.hgetall,
        b"zset": lambda key: redis.zrange(key, 0, -1),
        b"set": redis.smembers,
    }
    found = [(key, await read[await redis.type(key)](key)) for key in await redis.keys("*")]
    return repr(found).encode()


def process_memory(pid):
    """Every writable page of a process of ours; empty where the system does not show it."""
    found = bytearray()
    with contextlib.suppress(OSError), Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            first, last, mode = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
            if mode.startswith("rw"):
                with contextlib.suppress(OSError, ValueError):
                    memory.seek(int(first, 16))
                    found += memory.read(int(last, 16) - int(first, 16))
    return bytes(found)


async def listen(redis, traffic):
    async with redis.monitor() as monitor:
        while True:
            traffic.append(str(await monitor.next_command()).encode())


async def search(url, queue, keys):
    """Push jobs with nobody to take them, then answer them with nobody to read; what was seen, by place."""
    redis, traffic = Redis.from_url(url), []
    listening = asyncio.create_task(listen(Redis.from_url(url), traffic))
    await asyncio.sleep(0.1)
    try:
        async with Reranker.from_url(url, queue=queue, deadline_ms=500, seal_keys=keys) as reranker:
            assert (await ask(reranker)).cause is Cause.DEADLINE
        waiting = await stored(redis)
        assert queue.encode() in waiting
        pid = (await redis.info("server"))["process_id"]
        memory = process_memory(pid)
        items = await redis.lrange(queue, 0, -1)
        # The reader has gone: replies lie until their TTL.
        settings = WorkerSettings(queue=queue, seal_keys=keys, reply_ttl_ms=60_000)
        clock = LongAgo(time.time() - 0.4)
        handler = BatchHandler(
            redis=redis, settings=settings, rankers={"local": Quoting()}, clock=clock, events=Silent()
        )
        await handler.handle(Popped(items=items, at=clock.time()))
        assert handler.tally["ranked"] == len(items) == 1
        lying = await stored(redis)
        assert b":reply:" in lying
        return {
            "waiting": waiting,
            "lying": lying,
            "traffic": b"\n".join(traffic),
            "memory": memory + process_memory(pid),
        }
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        await redis.aclose()


class LongAgo(SystemClock):
    """The clock of a worker that met the job in time."""

    def __init__(self, now):
        self.now = now

    def time(self):
        return self.now


def found(seen):
    return {
        where: {place for place, text in MARKERS.items() if text.encode() in raw}
        for where, raw in seen.items()
    }


async def test_with_keys_nothing_is_found(queue):
    with Stack(queue) as stack:
        seen = await search(stack.start_valkey(), queue, KEYS)
    assert found(seen) == {"waiting": set(), "lying": set(), "traffic": set(), "memory": set()}


async def test_without_keys_the_same_search_finds_all(queue):
    """Given the fault that the test above is there for, then its search sees it."""
    with Stack(queue) as stack:
        seen = await search(stack.start_valkey(), queue, None)
    hits = found(seen)
    asked = set(PLACES) - {"reason"}
    assert hits["waiting"] == asked
    assert hits["lying"] >= {"reason"}
    assert hits["traffic"] == set(PLACES)
    if seen["memory"]:
        assert hits["memory"] == set(PLACES)


async def test_a_real_worker_and_producer_agree_by_the_environment(start_worker):
    worker = start_worker(seal_keys=KEYS)
    async with Reranker.from_url(worker.url, queue=worker.queue, deadline_ms=5_000, seal_keys=KEYS) as sealed:
        assert (await ask(sealed)).source is Source.MODEL
    async with Reranker.from_url(worker.url, queue=worker.queue, deadline_ms=5_000) as clear:
        assert (await ask(clear)).cause is Cause.INVALID_JOB
