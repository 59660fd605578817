"""All workers on one runtime together keep within its limit; a dead worker's places come free."""

import asyncio

import pytest

from memsift_schemas import SystemClock
from memsift_schemas.redis_link import connect
from memsift_workers.flow.shared_limit import SharedLimit, runtime_key


@pytest.fixture
def shared(redis, queue):
    def make(limit, link=redis):
        return SharedLimit(link, runtime_key(queue, "http://r"), limit=lambda: limit, clock=SystemClock())

    return make


def soon(seconds=5.0):
    return SystemClock().time() + seconds


async def test_many_workers_never_exceed_the_limit(shared, redis):
    inside, most = 0, 0

    async def worker():
        nonlocal inside, most
        limit = shared(24)
        for _ in range(4):
            lease = await limit.enter(7, until=soon(20))
            inside += 7
            most = max(most, inside)
            await asyncio.sleep(0.002)
            inside -= 7
            pipeline = redis.pipeline(transaction=False)
            lease.give_back(pipeline)
            await pipeline.execute()

    await asyncio.gather(*(worker() for _ in range(6)))
    assert most == 21


async def test_small_batches_do_not_pass_a_large_one_that_waits(shared, redis):
    """Given a full batch that waits for three places, when a single job would fit, then it waits."""
    holder = await shared(3).enter(1, until=soon())
    large = asyncio.create_task(shared(3).enter(3, until=soon()))
    await asyncio.sleep(0.05)
    passing = await shared(3).enter(1, until=soon(0.3))
    assert not passing.member
    pipeline = redis.pipeline(transaction=False)
    holder.give_back(pipeline)
    await pipeline.execute()
    assert (await asyncio.wait_for(large, 2)).member


async def test_a_dead_worker_that_was_next_holds_nobody_up(shared):
    first = await shared(2).enter(1, until=soon(60))
    waiting = asyncio.create_task(shared(2).enter(2, until=soon(60)))
    await asyncio.sleep(0.05)
    waiting.cancel()
    lease = await asyncio.wait_for(shared(2).enter(1, until=soon(60)), 2)
    assert first.member
    assert lease.member


async def test_places_of_a_dead_worker_come_free(shared, monkeypatch):
    monkeypatch.setattr("memsift_workers.flow.shared_limit.LEASE_MARGIN_S", 0.1)
    await shared(8).enter(8, until=soon(0.1))
    lease = await asyncio.wait_for(shared(8).enter(8, until=soon(5)), 3)
    assert lease.member


async def test_a_place_is_held_no_longer_than_its_batch_may_take(shared, redis, queue):
    await shared(8).enter(8, until=soon(60), hold_s=0.5)
    assert 0 < await redis.pttl(runtime_key(queue, "http://r")) <= 1_500


async def test_nobody_waits_past_the_deadline(shared):
    await shared(8).enter(8, until=soon(5))
    lease = await asyncio.wait_for(shared(8).enter(1, until=soon(0.05)), 2)
    assert not lease.member


async def test_more_jobs_than_the_limit_get_in_alone(shared):
    lease = await asyncio.wait_for(shared(4).enter(16, until=soon()), 2)
    assert lease.member


async def test_without_redis_the_local_limit_is_left_which_is_told_once(shared, caplog):
    link = connect("redis://127.0.0.1:1/0", client_name="test", connections=2)
    alone = shared(4, link)
    for _ in range(3):
        lease = await asyncio.wait_for(alone.enter(4, until=soon()), 4)
        assert not lease.member
    assert caplog.text.count("each worker limits itself alone") == 1
    await link.aclose()


async def test_the_semaphore_leaves_nothing_behind(shared, redis, queue):
    await shared(8).enter(8, until=soon(0.2))
    assert 0 < await redis.pttl(runtime_key(queue, "http://r")) <= 1_200
    assert b"http" not in b"".join([key async for key in redis.scan_iter(f"{queue}*")])
