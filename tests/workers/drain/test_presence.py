"""A worker is there, leaves, or dies: what waits in its runtime's own list is never left behind."""

import orjson
import pytest

from memsift_schemas.keys import own_key, own_lists_key, worker_key, workers_key
from memsift_workers.drain.presence import PRESENCE_TTL_S, SILENT_S, Presence


@pytest.fixture
def present(redis, queue, clock):
    return lambda name, runtime="": Presence(redis, queue, hostname=name, clock=clock, runtime=runtime)


async def push(redis, key, *items, ttl_ms=90_000):
    await redis.lpush(key, *items)
    await redis.pexpire(key, ttl_ms)


async def in_turn(redis, queue):
    """What the queue holds, the next first."""
    return (await redis.lrange(queue, 0, -1))[::-1]


async def test_a_card_names_the_own_list_while_the_runtime_answers(present, redis, queue):
    one = present("w", "r")
    for fit, runtime in ((True, "r"), (False, "")):
        await one.tell({"limit": 3}, fit=fit)
        assert orjson.loads(await redis.get(worker_key(queue, "w"))) == {"limit": 3, "own": runtime}
    assert 0 < await redis.ttl(worker_key(queue, "w")) <= PRESENCE_TTL_S
    assert await redis.zrange(workers_key(queue), 0, -1) == [b"w"]


async def test_who_leaves_gives_its_list_back_in_order_and_nothing_can_come_after(present, redis, queue):
    one = present("w", "r")
    await one.tell({})
    await push(redis, own_key(queue, "r"), "1", "2", "3")
    await push(redis, queue, "4", ttl_ms=70_000)
    await one.leave()
    assert await in_turn(redis, queue) == [b"1", b"2", b"3", b"4"]
    assert await redis.pttl(queue) > 80_000
    left = (worker_key(queue, "w"), own_key(queue, "r"), own_lists_key(queue), workers_key(queue))
    assert await redis.exists(*left) == 0


async def test_who_leaves_twice_takes_nothing_from_those_who_came_after(present, redis, queue):
    first, second = present("w", "r"), present("v", "r")
    await first.tell({})
    await first.leave()
    await second.tell({})
    await push(redis, own_key(queue, "r"), "1")
    await first.leave()
    assert await redis.llen(own_key(queue, "r")) == 1


async def test_a_dead_ones_list_is_given_back_by_another_within_the_life_of_its_card(
    present, redis, queue, clock
):
    dead, alive = present("w", "r"), present("v", "s")
    await dead.tell({})
    await push(redis, own_key(queue, "r"), "1", "2")
    clock.advance(SILENT_S)
    await alive.tell({})
    assert await in_turn(redis, queue) == []
    clock.advance(PRESENCE_TTL_S - SILENT_S)
    await alive.tell({})
    assert await in_turn(redis, queue) == [b"1", b"2"]
    assert await redis.zrange(own_lists_key(queue), 0, -1) == [b"s"]


async def test_a_list_that_another_worker_drains_is_left_alone(present, redis, queue, clock):
    dead, same, other = present("w", "r"), present("v", "r"), present("u", "s")
    await dead.tell({})
    await push(redis, own_key(queue, "r"), "1")
    clock.advance(PRESENCE_TTL_S)
    await same.tell({})
    await other.tell({})
    assert await redis.llen(own_key(queue, "r")) == 1


async def test_one_that_has_just_come_back_keeps_its_list(present, redis, queue, clock):
    """The look and the moving are two steps; between them the worker may say that it is there."""
    one, other = present("w", "r"), present("v")
    await one.tell({})
    await push(redis, own_key(queue, "r"), "1")
    await other._give_back("r", since=clock.now - SILENT_S)
    assert await redis.llen(own_key(queue, "r")) == 1
    clock.advance(PRESENCE_TTL_S)
    await other._give_back("r", since=clock.now - SILENT_S)
    assert await redis.llen(own_key(queue, "r")) == 0


async def test_while_its_runtime_is_away_a_worker_gives_its_own_list_to_others(present, redis, queue, clock):
    one = present("w", "r")
    await one.tell({})
    await push(redis, own_key(queue, "r"), "1")
    for _ in range(PRESENCE_TTL_S):
        clock.advance(1.0)
        await one.tell({}, fit=False)
    assert await in_turn(redis, queue) == [b"1"]


async def test_a_paused_worker_gives_its_list_to_others_at_once_and_as_long_as_it_is_paused(
    present, redis, queue, clock
):
    # Given a worker with jobs in its own list
    one = present("w", "r")
    await one.tell({})
    await push(redis, own_key(queue, "r"), "1", "2")
    # When it is paused
    await one.tell({"paused": True}, paused=True)
    # Then they are anybody's, its card names no list, and it is still there
    assert await in_turn(redis, queue) == [b"1", b"2"]
    assert orjson.loads(await redis.get(worker_key(queue, "w"))) == {"paused": True, "own": ""}
    # And what a frontend pushes there that has not read the card is so with the next word
    await push(redis, own_key(queue, "r"), "3")
    clock.advance(1.0)
    await one.tell({"paused": True}, paused=True)
    assert set(await in_turn(redis, queue)) == {b"1", b"2", b"3"}
    # When it is resumed the list is its own again
    await one.tell({})
    await push(redis, own_key(queue, "r"), "4")
    await one.tell({})
    assert await redis.llen(own_key(queue, "r")) == 1


async def test_a_paused_worker_leaves_a_list_that_another_one_drains(present, redis, queue, clock):
    paused, same = present("w", "r"), present("v", "r")
    await paused.tell({}, paused=True)
    await same.tell({})
    await push(redis, own_key(queue, "r"), "1")
    clock.advance(1.0)
    await paused.tell({}, paused=True)
    assert await redis.llen(own_key(queue, "r")) == 1
