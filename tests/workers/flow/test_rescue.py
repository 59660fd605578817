"""A dead worker's jobs come back once, if they have time left; an answered batch leaves nothing behind."""

import asyncio

import pytest

from memsift_schemas import SystemClock, message, wire
from memsift_workers.flow.rescue import Rescue, forget
from tests.samples import job


@pytest.fixture
def rescue(redis, queue):
    return lambda: Rescue(redis, queue, SystemClock())


def raw(queue, seconds=30):
    whole = job(deadline=SystemClock().time() + seconds, reply_to=f"{queue}:reply:t")
    return message.build(whole, wire.encode_job(whole), queue)


async def die(redis, queue, one):
    await redis.delete(one._lease(one._me))


async def test_jobs_of_a_dead_worker_are_given_back_in_front(rescue, redis, queue):
    dead, alive = rescue(), rescue()
    await dead.look()
    items = [raw(queue) for _ in range(3)]
    await redis.lpush(queue, *items)
    assert (await dead.pop(2))[0] == items[:2]
    assert await alive.look() == 0
    await die(redis, queue, dead)
    assert await alive.look() == 2
    assert set((await alive.pop(2))[0]) == set(items[:2])


async def test_a_job_is_given_back_once(rescue, redis, queue):
    first, second, third = rescue(), rescue(), rescue()
    await redis.lpush(queue, raw(queue))
    await first.pop(1)
    assert await third.look() == 1
    await second.pop(1)
    assert await third.look() == 0
    assert await redis.llen(queue) == 0


async def test_what_has_no_time_left_or_is_no_job_is_not_given_back(rescue, redis, queue):
    dead, alive = rescue(), rescue()
    await redis.lpush(queue, raw(queue, seconds=-1), b"noise", raw(queue))
    await dead.pop(3)
    assert await alive.look() == 1


async def test_a_queue_that_was_empty_goes_away_after_the_deadline_of_what_is_given_back(
    rescue, redis, queue
):
    dead, alive = rescue(), rescue()
    await redis.lpush(queue, raw(queue, seconds=30))
    await dead.pop(1)
    assert await alive.look() == 1
    assert 60_000 < await redis.pttl(queue) <= 90_000


async def test_a_longer_life_of_the_queue_is_kept(rescue, redis, queue):
    dead, alive = rescue(), rescue()
    await redis.lpush(queue, raw(queue), raw(queue))
    await redis.pexpire(queue, 500_000)
    await dead.pop(1)
    assert await alive.look() == 1
    assert await redis.pttl(queue) > 400_000


async def test_an_answered_batch_is_forgotten(rescue, redis, queue):
    dead, alive = rescue(), rescue()
    await redis.lpush(queue, raw(queue))
    _, record = await dead.pop(1)
    assert 0 < await redis.pttl(record) <= 120_000
    pipeline = redis.pipeline(transaction=False)
    forget(record)(pipeline)
    await pipeline.execute()
    assert await alive.look() == 0
    keys = {key async for key in redis.scan_iter(f"{queue}*")}
    assert keys == {f"{queue}:rescue:{alive._me}:alive".encode()}


async def test_a_worker_that_died_while_its_batch_filled_up_loses_nothing(rescue, redis, queue):
    dead, alive = rescue(), rescue()
    item = raw(queue)
    await redis.lpush(f"{queue}:rescue:{dead._me}:staging", item)
    await redis.sadd(f"{queue}:rescue", dead._me)
    assert await alive.look() == 1
    assert await redis.lrange(queue, 0, -1) == [item]


async def test_a_pop_waits_and_records_what_it_gets(rescue, redis, queue):
    one = rescue()
    popping = asyncio.create_task(one.pop(4))
    await asyncio.sleep(0.05)
    await redis.lpush(queue, "a")
    items, record = await popping
    assert items == await redis.lrange(record, 0, -1) == [b"a"]
    assert 0 < await redis.pttl(record) <= 120_000
    assert await one.pop(4) == ([], "")
