"""Never more under way than the limit; room that comes free is taken."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from memsift_workers.flow.limiter import Limiter


async def test_a_batch_gets_the_room_that_is_left():
    limiter = Limiter(24, batches=4)
    assert [await limiter.take(16), await limiter.take(16)] == [16, 8]
    assert limiter.in_flight == 24


async def test_without_room_it_waits_until_some_is_given_back():
    limiter = Limiter(4, batches=4)
    await limiter.take(4)
    waiting = asyncio.create_task(limiter.take(4))
    await asyncio.sleep(0)
    assert not waiting.done()
    assert limiter.was_full
    limiter.give_back(3)
    assert await asyncio.wait_for(waiting, 1) == 3


async def test_batches_are_limited_too():
    limiter = Limiter(100, batches=1)
    room = await limiter.take(4)
    limiter.keep(room, 1)
    waiting = asyncio.create_task(limiter.take(4))
    await asyncio.sleep(0)
    assert not waiting.done()
    limiter.give_back(1)
    assert await asyncio.wait_for(waiting, 1) == 4


async def test_a_limit_that_fell_is_kept_and_a_closed_one_waits_for_nothing():
    limiter = Limiter(8, batches=4)
    await limiter.take(8)
    limiter.limit = 2
    limiter.give_back(4)
    waiting = asyncio.create_task(limiter.take(4))
    await asyncio.sleep(0)
    assert not waiting.done()
    limiter.close()
    assert await asyncio.wait_for(waiting, 1) == 0


@given(st.integers(1, 40), st.integers(1, 5), st.lists(st.integers(1, 20), max_size=40))
def test_the_limit_is_never_exceeded(limit, batches, steps):
    async def run():
        limiter, under_way = Limiter(limit, batches=batches), []
        for step in steps:
            try:
                room = await asyncio.wait_for(limiter.take(step), 0.001 if under_way else 1)
            except TimeoutError:
                limiter.give_back(under_way.pop(0))
                continue
            used = (room + step) % (room + 1)
            limiter.keep(room, used)
            under_way.append(used)
            assert limiter.in_flight == sum(under_way) <= limit
            assert len(under_way) <= batches

    asyncio.run(run())
