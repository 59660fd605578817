"""The drain takes a slot before it pops, fills batches, stops cleanly and outlives Redis."""

import asyncio
import time

import pytest

from memsift_schemas import SystemClock
from memsift_schemas.keys import own_key
from memsift_schemas.redis_link import BLOCK_S, connect
from memsift_schemas.settings import WorkerSettings
from memsift_workers.drain.loop import PAUSED_LOOK_S, TURN_S, DrainLoop
from memsift_workers.drain.taking import Taking
from memsift_workers.flow.limits import Limits
from memsift_workers.flow.load import Load


@pytest.fixture
async def drain(valkey_url, queue):
    """Start a drain whose batches wait for a gate."""
    running = []

    class Running:
        def __init__(self, url=valkey_url, limit=24, runtime="", **settings):
            self.link = connect(url, client_name="test", connections=4)
            self.batches, self.gate = [], asyncio.Event()
            fields = {
                "queue": queue,
                "batch_max": 4,
                "batch_wait_ms": 30,
                "batches_in_flight": 2,
                "shutdown_grace_s": 5,
            }
            limits = Limits.of(WorkerSettings(**{**fields, "runtime_concurrency": limit, **settings}))
            self.limits = limits
            self.loop = DrainLoop(
                taking=Taking(self.link, queue, runtime),
                limits=limits,
                handle=self.handle,
                clock=SystemClock(),
            )
            self.task = asyncio.create_task(self.loop.run())
            running.append(self)

        async def handle(self, popped):
            self.batches.append(list(popped.items))
            await self.gate.wait()

    yield Running
    for one in running:
        one.gate.set()
        one.loop.stop()
        await asyncio.wait_for(one.task, 10)
        await one.link.aclose()


async def test_a_batch_is_full_at_its_maximum_and_in_order_of_arrival(drain, redis, queue, eventually):
    await redis.lpush(queue, *range(4))
    running = drain()
    await eventually(lambda: running.batches)
    assert running.batches == [[b"0", b"1", b"2", b"3"]]


async def test_a_short_batch_waits_to_be_topped_up(drain, redis, queue, eventually):
    running = drain(batch_wait_ms=500)
    await redis.lpush(queue, "under way")
    await eventually(lambda: running.batches)
    await redis.lpush(queue, "first")
    await asyncio.sleep(0.1)
    await redis.lpush(queue, "second")
    await eventually(lambda: len(running.batches) == 2)
    assert running.batches[1] == [b"first", b"second"]


async def test_an_idle_runtime_is_asked_at_once(drain, redis, queue, eventually):
    running = drain(batch_wait_ms=1000)
    await redis.lpush(queue, "first")
    while await redis.llen(queue):
        await asyncio.sleep(0)
    await redis.lpush(queue, "second")
    await eventually(lambda: len(running.batches) == 2)
    assert running.batches == [[b"first"], [b"second"]]


async def test_a_runtime_that_has_become_idle_is_asked_at_once_again(drain, redis, queue, eventually):
    # Given a drain that began to look for the next job while its last one was still being ranked
    running = drain(batch_wait_ms=1000)
    await redis.lpush(queue, "first")
    await eventually(lambda: running.batches)
    await asyncio.sleep(0.1)
    running.gate.set()
    await asyncio.sleep(0.1)
    # When a job comes that finds the runtime idle, then it is not held back for others
    began = time.monotonic()
    await redis.lpush(queue, "second")
    await eventually(lambda: len(running.batches) == 2)
    assert time.monotonic() - began < 0.8


async def test_who_comes_late_after_the_last_batch_is_not_held_though_it_is_under_way(
    drain, redis, queue, eventually
):
    running = drain(batch_wait_ms=300)
    await redis.lpush(queue, "under way")
    await eventually(lambda: running.batches)
    await asyncio.sleep(0.4)
    began = time.monotonic()
    await redis.lpush(queue, "late")
    await eventually(lambda: len(running.batches) == 2)
    assert time.monotonic() - began < 0.25


async def test_full_batches_follow_each_other_at_once(drain, redis, queue, eventually):
    await redis.lpush(queue, *range(8))
    began = time.monotonic()
    running = drain(batch_wait_ms=1000)
    await eventually(lambda: len(running.batches) == 2)
    assert time.monotonic() - began < 0.8


async def test_no_more_is_taken_than_there_are_slots(drain, redis, queue, eventually):
    running = drain()
    await redis.lpush(queue, *range(20))
    await eventually(lambda: len(running.batches) == 2)
    await asyncio.sleep(0.1)
    assert len(running.batches) == 2
    assert await redis.llen(queue) == 12
    running.gate.set()
    await eventually(lambda: sum(map(len, running.batches)) == 20)


async def test_a_full_own_list_does_not_starve_the_queue_nor_the_other_way_round(
    drain, redis, queue, eventually
):
    own = own_key(queue, "r")
    await redis.lpush(own, *(f"own {at}" for at in range(40)))
    await redis.lpush(queue, *(f"queue {at}" for at in range(40)))
    running = drain(runtime="r", batches_in_flight=8)
    running.gate.set()
    await eventually(lambda: len(running.batches) >= 8)
    first = [item.split()[0] for batch in running.batches[:8] for item in batch]
    assert first.count(b"queue") >= 2
    assert first.count(b"own") >= 16


@pytest.mark.parametrize("batch_wait_ms", [0, 30])
async def test_a_batch_that_one_list_does_not_fill_takes_from_the_other(
    drain, redis, queue, eventually, batch_wait_ms
):
    await redis.lpush(own_key(queue, "r"), "own")
    await redis.lpush(queue, *range(3))
    running = drain(runtime="r", batch_wait_ms=batch_wait_ms)
    await eventually(lambda: running.batches)
    assert running.batches == [[b"own", b"0", b"1", b"2"]]


async def test_a_stop_finishes_what_is_in_flight_and_leaves_the_rest(drain, redis, queue, eventually):
    running = drain(batches_in_flight=1)
    await redis.lpush(queue, *range(10))
    await eventually(lambda: running.batches)
    running.loop.stop()
    await asyncio.sleep(0.05)
    assert not running.task.done()
    running.gate.set()
    await asyncio.wait_for(running.task, 5)
    assert len(running.batches) == 1
    assert await redis.llen(queue) == 6


async def test_a_batch_that_never_ends_is_given_up_after_the_grace_time(drain, redis, queue, eventually):
    running = drain(shutdown_grace_s=0.2)
    await redis.lpush(queue, "stuck")
    await eventually(lambda: running.batches)
    running.loop.stop()
    await asyncio.wait_for(running.task, 5)


async def test_one_failing_batch_does_not_end_the_drain(drain, redis, queue, eventually, caplog):
    running = drain()
    seen = []

    async def failing(popped):
        seen.append(popped)
        raise ValueError("xyzzy")

    running.loop._handle = failing
    for at in range(3):
        await redis.lpush(queue, at)
        await eventually(lambda at=at: len(seen) == at + 1)
    assert "ValueError" in caplog.text
    assert "xyzzy" not in caplog.text


async def test_a_lost_connection_is_replaced(drain, redis, queue, eventually):
    running = drain()
    running.gate.set()
    await redis.lpush(queue, "before")
    await eventually(lambda: running.batches)
    for client in await redis.client_list():
        if client["name"] == "test":
            await redis.client_kill_filter(_id=client["id"])
    await redis.lpush(queue, "after")
    await eventually(lambda: [b"after"] in running.batches)


async def test_an_absent_server_is_waited_for_without_a_busy_loop(drain, caplog):
    running = drain(url="redis://127.0.0.1:1/0")
    await asyncio.sleep(0.5)
    assert not running.task.done()
    assert 1 <= caplog.text.count("Redis is away") <= 6


async def test_a_paused_drain_leaves_what_waits_and_finishes_what_it_has(drain, redis, queue, eventually):
    # Given a batch in flight
    running = drain(batches_in_flight=2)
    await redis.lpush(queue, *range(4))
    await eventually(lambda: running.batches)
    # When the drain is paused and its last pop has ended
    running.loop.pause(paused=True)
    await asyncio.sleep(BLOCK_S + 0.2)
    await redis.lpush(queue, *range(4, 8))
    running.gate.set()
    await asyncio.sleep(2 * PAUSED_LOOK_S)
    # Then nothing more was taken
    assert (len(running.batches), await redis.llen(queue)) == (1, 4)
    assert running.loop.is_turning
    # When it is resumed, then it goes on
    running.loop.pause(paused=False)
    await eventually(lambda: len(running.batches) == 2)


async def test_a_paused_drain_stops_at_once(drain):
    running = drain()
    running.loop.pause(paused=True)
    await asyncio.sleep(0.05)
    running.loop.stop()
    await asyncio.wait_for(running.task, 5)


async def test_a_changed_batch_size_holds_from_the_next_pop_on(drain, redis, queue, eventually):
    running = drain(batches_in_flight=2)
    running.limits.change({"batch_max": 2}, Load(SystemClock(), batches=1))
    await asyncio.sleep(BLOCK_S + 0.1)  # the pop under way was for four
    await redis.lpush(queue, *range(4))
    await eventually(lambda: len(running.batches) == 2)
    assert [len(batch) for batch in running.batches] == [2, 2]


async def test_a_drain_that_does_not_turn_is_seen(clock, redis, queue):
    """Room is waited for as long as a batch may take; Redis has less time."""
    limits = Limits.of(WorkerSettings(rank_timeout_ms=60_000))

    async def hang(popped):
        await asyncio.Event().wait()

    loop = DrainLoop(taking=Taking(redis, queue), limits=limits, handle=hang, clock=clock)
    assert loop.is_turning  # it has not begun
    room = await loop._room()
    clock.advance(TURN_S - 1)
    assert loop.is_turning
    clock.advance(2)
    assert not loop.is_turning
    # Given no room
    waiting = asyncio.create_task(loop._room())
    limits.limiter.limit = limits.limiter.in_flight
    await asyncio.sleep(0)
    clock.advance(60)
    assert loop.is_turning
    clock.advance(TURN_S + 1)
    assert not loop.is_turning
    # When it ends it is no longer looked at
    loop.stop()
    assert loop.is_turning
    await waiting
    assert room
