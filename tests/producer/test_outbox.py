"""What reaches the queue, and what does not: a full queue, a caller who went away, a closed frontend."""

import asyncio
import threading

import pytest

from memsift_producer import Reranker, SyncReranker
from memsift_producer.affinity import Affinity
from memsift_producer.outbox import MAX_PER_PUSH, Outbox
from memsift_schemas import Cause, message
from memsift_schemas.keys import cancel_key
from memsift_schemas.redis_link import end
from tests.samples import NOW, memories

ASK = {"query": "Where is the spare key to the cabin?", "now": NOW, "memories": memories(4)}


@pytest.fixture
async def outbox(redis, queue, clock):
    depths = []
    affinity = Affinity(queue, enabled=True)
    one = Outbox(
        *(redis, queue),
        most=10,
        clock=clock,
        affinity=affinity,
        on_depths=lambda depth, own: depths.append(depth),
    )
    one.depths = depths
    task = asyncio.create_task(one.run())
    yield one
    await end([task])


async def taken(parcels):
    return [await parcel.taken for parcel in parcels]


async def test_a_full_queue_takes_the_first_that_fit_and_no_more(outbox, redis, queue, clock):
    parcels = [outbox.put(str(at), b"%d" % at, clock.now + 1) for at in range(13)]
    assert await taken(parcels) == [None] * 10 + [Cause.QUEUE_FULL] * 3
    assert await redis.lrange(queue, 0, -1) == [b"%d" % at for at in reversed(range(10))]
    assert outbox.depths == [10]
    await redis.rpop(queue)
    assert await taken([outbox.put("x", b"x", clock.now + 1), outbox.put("y", b"y", 0)]) == [
        None,
        Cause.QUEUE_FULL,
    ]


async def test_many_messages_keep_their_order(redis, queue, clock):
    affinity = Affinity(queue, enabled=True)
    one = Outbox(redis, queue, most=1_000, clock=clock, affinity=affinity, on_depths=lambda *depths: None)
    parcels = [one.put(str(at), b"%d" % at, clock.now + 1) for at in range(3 * MAX_PER_PUSH)]
    task = asyncio.create_task(one.run())
    await taken(parcels)
    await end([task])
    assert await redis.lrange(queue, 0, -1) == [b"%d" % at for at in reversed(range(len(parcels)))]


async def test_a_queue_that_nobody_drains_goes_away_after_its_last_deadline(outbox, redis, queue, clock):
    await taken([outbox.put("long", b"1", clock.now + 100), outbox.put("late", b"2", clock.now - 100)])
    assert 155 < await redis.ttl(queue) <= 160
    await taken([outbox.put("short", b"3", clock.now + 1)])
    assert 155 < await redis.ttl(queue) <= 160


async def test_a_message_that_was_not_pushed_is_withdrawn_and_not_marked(outbox, redis, queue, clock):
    parcel, other = outbox.put("a", b"a", clock.now + 9), outbox.put("b", b"b", clock.now + 9)
    outbox.withdraw(parcel, cancelled=True)
    await other.taken
    await asyncio.wait_for(outbox.idle.wait(), 5)
    assert await redis.lrange(queue, 0, -1) == [b"b"]
    assert not await redis.exists(cancel_key(queue, "a"))


@pytest.mark.parametrize("cancelled", [True, False])
async def test_one_that_was_pushed_is_marked_only_if_its_caller_went_away(
    outbox, redis, queue, clock, cancelled
):
    parcel = outbox.put("a", b"a", clock.now + 9)
    await parcel.taken
    outbox.withdraw(parcel, cancelled=cancelled)
    await asyncio.wait_for(outbox.idle.wait(), 5)
    assert (await redis.get(cancel_key(queue, "a")) == b"1") is cancelled
    assert not cancelled or 0 < await redis.pttl(cancel_key(queue, "a")) <= 9_000


async def test_a_mark_whose_deadline_has_passed_is_not_set_and_spoils_no_other(outbox, redis, queue, clock):
    parcels = [outbox.put("a", b"a", clock.now + 1), outbox.put("b", b"b", clock.now + 9)]
    await taken(parcels)
    clock.advance(2)
    for parcel in parcels:
        outbox.withdraw(parcel, cancelled=True)
    await asyncio.wait_for(outbox.idle.wait(), 5)
    assert await redis.mget(cancel_key(queue, "a"), cancel_key(queue, "b")) == [None, b"1"]


async def marks_of(redis, queue, count):
    async with asyncio.timeout(10):
        while len(found := [key async for key in redis.scan_iter(f"{queue}:cancel:*")]) < count:
            await asyncio.sleep(0.01)
    return sorted(found)


def ids_in(items):
    return [message.read(item).id for item in items]


async def queued(redis, queue, count):
    async with asyncio.timeout(10):
        while await redis.llen(queue) < count:
            await asyncio.sleep(0.01)
    return ids_in(await redis.lrange(queue, 0, -1))


async def test_cancelled_calls_mark_their_jobs(reranker, redis, queue):
    calls = [asyncio.create_task(reranker.rerank(deadline=60, **ASK)) for _ in range(20)]
    jobs = await queued(redis, queue, 20)
    for call in calls:
        call.cancel()
    assert await marks_of(redis, queue, 20) == sorted(cancel_key(queue, one).encode() for one in jobs)
    assert {call.cancelled() for call in calls} == {True}


async def test_a_deadline_that_passed_and_an_answer_need_no_mark(reranker, redis, queue, worker):
    await reranker.rerank(**ASK)
    worker.answer = lambda job: None
    await reranker.rerank(deadline=0.1, **ASK)
    cancelled = asyncio.create_task(reranker.rerank(deadline=60, **ASK))
    await asyncio.sleep(0.1)
    cancelled.cancel()
    assert len(await marks_of(redis, queue, 1)) == 1


async def test_closing_still_sends_the_marks(valkey_url, redis, queue):
    async with Reranker.from_url(valkey_url, queue=queue) as reranker:
        call = asyncio.create_task(reranker.rerank(deadline=60, **ASK))
        await queued(redis, queue, 1)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
    assert len(await marks_of(redis, queue, 1)) == 1


async def test_a_full_queue_is_a_cause_of_its_own(valkey_url, redis, queue):
    await redis.lpush(queue, *["x"] * 5)
    async with Reranker.from_url(valkey_url, queue=queue, queue_max=5) as reranker:
        assert (await reranker.rerank(deadline=5, **ASK)).cause is Cause.QUEUE_FULL
    assert await redis.llen(queue) == 5


async def test_a_thread_that_is_interrupted_while_it_waits_cancels_its_job(
    valkey_url, redis, queue, monkeypatch
):
    with_future = []

    class Interrupted(BaseException):
        pass

    real = asyncio.run_coroutine_threadsafe

    def submitted(work, loop):
        future = real(work, loop)
        if work.__name__ == "rerank":
            waiting.wait(10)
            monkeypatch.setattr(future, "result", interrupt)
            with_future.append(future)
        return future

    def interrupt(timeout=None):
        raise Interrupted

    waiting = threading.Event()
    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", submitted)

    def ask():
        with SyncReranker.from_url(valkey_url, queue=queue) as reranker, pytest.raises(Interrupted):
            reranker.rerank(deadline=60, **ASK)

    asking = asyncio.create_task(asyncio.to_thread(ask))
    (job,) = await queued(redis, queue, 1)
    waiting.set()
    await asking
    assert await marks_of(redis, queue, 1) == [cancel_key(queue, job).encode()]
    assert with_future[0].cancelled()
