"""A call's work runs in its turn, and only as long as its client waits."""

import asyncio

import pytest

from memsift_producer.gateway.body import Gone
from memsift_producer.gateway.running import Turns


async def never():
    await asyncio.Event().wait()


async def gone():
    return {"type": "http.disconnect"}


async def test_an_end_from_outside_is_no_client_that_went_away():
    task = asyncio.create_task(Turns().run(never, never()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_work_of_a_client_that_went_away_is_cancelled_and_its_end_awaited():
    ended = []

    async def work():
        try:
            await never()
        finally:
            ended.append(True)

    async def receive():
        await asyncio.sleep(0.01)
        return {"type": "http.disconnect"}

    with pytest.raises(Gone):
        await Turns().run(receive, work())
    assert ended == [True]


async def test_between_the_beginnings_of_two_calls_the_loop_goes_round():
    # Given ten calls at once, and what counts the rounds of the loop
    turns, rounds, begun = Turns(), 0, []

    async def count():
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0)

    async def work(at):
        begun.append((at, rounds))
        await asyncio.sleep(0.05)
        return at

    counting = asyncio.create_task(count())
    # When they run, then each begins in a round of its own, in order, and they go on side by side
    assert await asyncio.gather(*(turns.run(never, work(at)) for at in range(10))) == list(range(10))
    counting.cancel()
    assert [at for at, _ in begun] == list(range(10))
    assert len({at_round for _, at_round in begun}) == 10


async def test_work_that_fails_or_waits_holds_up_nobody():
    turns = Turns()

    async def fails():
        raise ZeroDivisionError

    waiting = asyncio.create_task(turns.run(never, never()))
    with pytest.raises(ZeroDivisionError):
        await turns.run(never, fails())
    with pytest.raises(Gone):
        await turns.run(gone, never())

    async def answer():
        return 7

    assert await asyncio.wait_for(turns.run(never, answer()), 1) == 7
    waiting.cancel()


async def test_a_client_that_goes_away_before_its_turn_gives_it_up():
    # Given a turn that is held, and a call that waits behind it
    turns = Turns()
    await turns._lock.acquire()
    begun = []

    async def work():
        begun.append(True)

    with pytest.raises(Gone):
        await turns.run(gone, work())
    # Then its work has not begun, and the next one comes when the turn is given back
    turns._lock.release()
    assert begun == []
    await turns.run(never, work())
    assert begun == [True]
