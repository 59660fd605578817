"""Small things that both sides of the queue rely on."""

import asyncio

from memsift_schemas.redis_link import Pause, end


async def test_a_task_that_loses_its_first_cancellation_is_ended_all_the_same():
    lost = []

    async def stubborn():
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                if lost:
                    raise
                lost.append(True)

    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    await asyncio.wait_for(end([task]), 5)
    assert task.cancelled()


async def test_ending_nothing_is_fine():
    await end([])


def test_pauses_grow_and_are_reset():
    pause = Pause()
    assert [pause.next() for _ in range(7)] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    pause.reset()
    assert pause.next() == 0.05
