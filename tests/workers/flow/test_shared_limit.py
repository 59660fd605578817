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


async def taken(limit, jobs, *, until, **hold):
    """All places of one batch."""
    return [lease async for lease in limit.enter(jobs, until=until, **hold)]


async def one(limit, jobs, *, until, **hold):
    """The places of a batch that gets all at once, or none."""
    (lease,) = await taken(limit, jobs, until=until, **hold)
    assert lease.jobs == jobs
    return lease


async def give_back(redis, *leases):
    pipeline = redis.pipeline(transaction=False)
    for lease in leases:
        lease.give_back(pipeline)
    await pipeline.execute()


def soon(seconds=5.0):
    return SystemClock().time() + seconds


async def test_many_workers_never_exceed_the_limit(shared, redis):
    inside, most = 0, 0

    async def worker():
        nonlocal inside, most
        limit = shared(24)
        for _ in range(4):
            async for lease in limit.enter(7, until=soon(20)):
                assert lease.member
                inside += lease.jobs
                most = max(most, inside)
                await asyncio.sleep(0.002)
                inside -= lease.jobs
                await give_back(redis, lease)

    await asyncio.gather(*(worker() for _ in range(6)))
    assert 21 <= most <= 24


async def test_a_batch_takes_the_places_that_there_are_and_the_rest_when_they_come_free(shared, redis):
    """Given one place in use, when three are wanted of three, then two are had at once."""
    holder = await one(shared(3), 1, until=soon())
    large = shared(3).enter(3, until=soon())
    first = await anext(large)
    assert (bool(first.member), first.jobs) == (True, 2)
    rest = asyncio.ensure_future(anext(large))
    await asyncio.sleep(0.05)
    assert not rest.done()
    await give_back(redis, holder)
    assert (await asyncio.wait_for(rest, 2)).jobs == 1
    assert [lease async for lease in large] == []


async def test_small_batches_do_not_pass_a_large_one_that_waits(shared, redis):
    """Given a full batch that waits for its third place, when that is free, then no single job has it."""
    holder = await one(shared(3), 1, until=soon())
    large = asyncio.create_task(taken(shared(3), 3, until=soon()))
    await asyncio.sleep(0.05)
    small = asyncio.create_task(taken(shared(3), 1, until=soon(0.6)))
    await asyncio.sleep(0.05)
    await give_back(redis, holder)
    assert all(lease.member for lease in await asyncio.wait_for(large, 2))
    (last,) = await small
    assert not last.member


async def test_a_dead_worker_that_was_next_holds_nobody_up(shared, redis):
    first = await one(shared(2), 2, until=soon(60))
    waiting = asyncio.create_task(taken(shared(2), 2, until=soon(60)))
    await asyncio.sleep(0.05)
    waiting.cancel()
    await give_back(redis, first)
    lease = await asyncio.wait_for(one(shared(2), 1, until=soon(60)), 2)
    assert lease.member


async def test_places_of_a_dead_worker_come_free(shared, monkeypatch):
    monkeypatch.setattr("memsift_workers.flow.shared_limit.LEASE_MARGIN_S", 0.1)
    await one(shared(8), 8, until=soon(0.1))
    lease = await asyncio.wait_for(one(shared(8), 8, until=soon(5)), 3)
    assert lease.member


async def test_a_place_is_held_no_longer_than_its_batch_may_take(shared, redis, queue):
    await one(shared(8), 8, until=soon(60), hold_s=0.5)
    assert 0 < await redis.pttl(runtime_key(queue, "http://r")) <= 1_500


async def test_nobody_waits_past_the_deadline(shared):
    await one(shared(8), 8, until=soon(5))
    lease = await asyncio.wait_for(one(shared(8), 1, until=soon(0.05)), 2)
    assert not lease.member


async def test_more_jobs_than_the_limit_get_in_alone(shared):
    lease = await asyncio.wait_for(one(shared(4), 16, until=soon()), 2)
    assert lease.member


async def test_without_redis_the_local_limit_is_left_which_is_told_once(shared, caplog):
    link = connect("redis://127.0.0.1:1/0", client_name="test", connections=2)
    alone = shared(4, link)
    for _ in range(3):
        lease = await asyncio.wait_for(one(alone, 4, until=soon()), 4)
        assert not lease.member
    assert caplog.text.count("each worker limits itself alone") == 1
    await link.aclose()


async def test_the_semaphore_leaves_nothing_behind(shared, redis, queue):
    await one(shared(8), 8, until=soon(0.2))
    assert 0 < await redis.pttl(runtime_key(queue, "http://r")) <= 1_200
    assert b"http" not in b"".join([key async for key in redis.scan_iter(f"{queue}*")])
