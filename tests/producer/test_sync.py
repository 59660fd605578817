"""What `SyncReranker` lets others do with the `Reranker` behind it, from threads and from event loops."""

import asyncio

import pytest

from memsift_producer import Reranker, SyncReranker


@pytest.fixture
def sync(valkey_url, queue):
    with SyncReranker.from_url(valkey_url, queue=queue) as one:
        yield one


def test_work_runs_with_its_reranker_on_its_own_loop(sync):
    async def work(reranker):
        return type(reranker), asyncio.get_running_loop()

    kind, loop = sync.call(work)
    assert kind is Reranker
    assert loop is sync._loop


async def test_from_an_event_loop_that_goes_on_meanwhile(sync):
    async def work(_reranker):
        await asyncio.sleep(0.05)
        return asyncio.get_running_loop()

    ticks = 0
    asking = asyncio.create_task(sync.call_async(work))
    while not asking.done():
        ticks += 1
        await asyncio.sleep(0.001)
    assert await asking is not asyncio.get_running_loop()
    assert ticks > 1


async def test_being_cancelled_cancels_the_work(sync):
    begun, ended = asyncio.Event(), asyncio.Event()
    here = asyncio.get_running_loop()

    async def work(_reranker):
        here.call_soon_threadsafe(begun.set)
        try:
            await asyncio.sleep(60)
        finally:
            here.call_soon_threadsafe(ended.set)

    asking = asyncio.create_task(sync.call_async(work))
    await asyncio.wait_for(begun.wait(), 5)
    asking.cancel()
    await asyncio.wait_for(ended.wait(), 5)
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_errors_arrive_and_one_that_is_closed_says_so(sync):
    async def work(_reranker):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await sync.call_async(work)
    closed = SyncReranker.from_url("redis://127.0.0.1:1/0")
    with pytest.raises(RuntimeError, match="not open"):
        closed.call(work)
    with pytest.raises(RuntimeError, match="not open"):
        await closed.call_async(work)
