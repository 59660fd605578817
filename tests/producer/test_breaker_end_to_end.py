"""The breaker in whole frontends, each with its own connections, against one Redis."""

import asyncio
import contextlib
import itertools
import os
import signal

import pytest

from memsift_producer import Reranker
from memsift_schemas import Cause, Source, keys
from tests.samples import NOW, memories

ASK = {"query": "Where is the spare key to the cabin?", "now": NOW, "memories": memories(4)}


@pytest.fixture
async def two(valkey_url, queue):
    """Two frontends on one queue, with a short probe interval."""
    async with contextlib.AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(Reranker.from_url(valkey_url, queue=queue, breaker_probe_ms=300))
            for _ in range(2)
        ]


async def ask(reranker, deadline=5.0):
    return await reranker.rerank(deadline=deadline, **ASK)


async def until_answered(reranker):
    while (await ask(reranker)).source is not Source.MODEL:
        await asyncio.sleep(0.01)


async def test_it_opens_for_all_within_ten_failures_and_closes_when_workers_answer(two, worker, eventually):
    first, second = two
    worker.answer = worker.refuse
    causes = [(await ask(first)).cause for _ in range(11)]
    assert causes == [Cause.RUNTIME_GARBAGE] * 10 + [Cause.BREAKER_OPEN]
    await eventually(lambda: second.breaker.is_open)
    sent = len(worker.jobs)
    assert {(await ask(one)).cause for one in two} <= {Cause.BREAKER_OPEN, Cause.RUNTIME_GARBAGE}
    assert len(worker.jobs) <= sent + 1

    worker.answer = worker.reversed
    await asyncio.wait_for(until_answered(second), 10)
    await eventually(lambda: not first.breaker.is_open)
    assert (await ask(first)).source is Source.MODEL


async def test_while_it_is_open_one_probe_is_out_over_all_callers(two, worker, eventually):
    worker.answer = worker.refuse
    for _ in range(10):
        await ask(two[0])
    await eventually(lambda: all(one.breaker.is_open for one in two))
    worker.answer = lambda job: None
    before = len(worker.jobs)

    async def caller(one):
        for _ in range(40):
            await ask(one, 0.2)
            await asyncio.sleep(0.02)

    await asyncio.gather(*(caller(one) for one in two for _ in range(25)))
    probes = worker.jobs[before:]
    assert probes
    # A probe ends at its deadline, and the next one may come an interval later.
    assert all(later.sent_at - earlier.sent_at >= 0.3 for earlier, later in itertools.pairwise(probes))


async def test_a_server_that_stops_answering_opens_it_here_and_coming_back_closes_it(
    valkey_url, queue, redis, worker
):
    process = (await redis.info("server"))["process_id"]
    async with Reranker.from_url(valkey_url, queue=queue) as reranker:
        os.kill(process, signal.SIGSTOP)
        try:
            causes = [one.cause for one in await asyncio.gather(*(ask(reranker, 0.2) for _ in range(10)))]
            assert set(causes) == {Cause.REDIS_UNAVAILABLE}
            assert reranker.breaker.is_open or reranker.breaker.away
            assert (await ask(reranker, 60)).cause in {Cause.BREAKER_OPEN, Cause.REDIS_UNAVAILABLE}
        finally:
            os.kill(process, signal.SIGCONT)
        await asyncio.wait_for(until_answered(reranker), 20)


async def test_redis_that_lost_its_scripts_and_the_state_is_no_fault(valkey_url, queue, redis, worker):
    async with Reranker.from_url(valkey_url, queue=queue) as reranker:
        await redis.script_flush()
        await redis.flushdb()
        assert (await ask(reranker)).source is Source.MODEL


async def test_opening_without_redis_waits_a_moment_and_keeps_calm(queue, monkeypatch, caplog):
    tries = []
    async with Reranker.from_url("redis://127.0.0.1:1/0", queue=queue) as reranker:
        real = reranker._parts.watch.once

        async def once():
            tries.append(1)
            await real()

        monkeypatch.setattr(reranker._parts.watch, "once", once)
        for _ in range(50):
            assert (await ask(reranker)).cause is Cause.REDIS_UNAVAILABLE
        await asyncio.sleep(1)
    assert len(tries) <= 3
    assert caplog.text.count("every call falls back at once") == 1


async def test_with_no_worker_at_all_it_opens_after_ten_calls(two):
    assert [(await ask(two[0], 0.05)).cause for _ in range(11)] == [Cause.DEADLINE] * 10 + [
        Cause.BREAKER_OPEN
    ]


async def test_workers_that_take_nothing_are_no_overload_for_long(two, redis, queue):
    """Their cards are there, and what nobody pops grows old."""
    await redis.zadd(keys.workers_key(queue), {"w": 4e9})
    await redis.set(keys.worker_key(queue, "w"), b"{}")
    causes = []
    while Cause.BREAKER_OPEN not in causes:
        causes.append((await ask(two[0], 0.15)).cause)
        await asyncio.sleep(0.02)
    assert causes.count(Cause.DEADLINE) == 10
    assert set(causes) == {Cause.DEADLINE, Cause.OVERLOADED, Cause.BREAKER_OPEN}
