"""A call's work runs in its turn, and only as long as its client waits."""

import asyncio

import pytest

from memsift_producer.gateway.body import Gone
from memsift_producer.gateway.call import Call
from memsift_producer.gateway.running import Turns
from memsift_schemas import GatewaySettings, SystemClock


async def never():
    await asyncio.Event().wait()


async def gone():
    return {"type": "http.disconnect"}


async def test_an_end_from_outside_is_no_client_that_went_away():
    task = asyncio.create_task(Turns(SystemClock()).run(never, never()))
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
        await Turns(SystemClock()).run(receive, work())
    assert ended == [True]


async def test_between_the_beginnings_of_two_calls_the_loop_goes_round():
    # Given ten calls at once, and what counts the rounds of the loop
    turns, rounds, begun = Turns(SystemClock()), 0, []

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
    turns = Turns(SystemClock())

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
    turns = Turns(SystemClock())
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


async def test_the_line_is_as_long_as_its_turns_take(clock):
    # Given calls of a quarter of a second each, of which nine wait
    turns, lines = Turns(clock), []

    async def work():
        clock.advance(0.25)
        lines.append(turns.line_s)
        await asyncio.sleep(0)

    await asyncio.gather(*(turns.run(never, work()) for _ in range(10)))
    # Then the first two know nothing, and each later one how long those behind it take
    assert lines == [0, 0, *[0.25 * waiting for waiting in range(7, -1, -1)]]
    # And what came between two calls of which none waited is no turn
    clock.advance(1000)
    await turns.run(never, work())
    await turns.run(never, work())
    assert lines[-2:] == [0, 0]
    assert turns._turn_s == 0.25


@pytest.mark.parametrize(("waiting", "left"), [(0, 0.9), (8, 0.9), (10, 0.0)])
def test_where_those_behind_would_be_late_the_model_is_not_asked(clock, waiting, left):
    # Given a call of a second's patience, a tenth of it gone, and a line in which each takes a tenth
    turns = Turns(clock)
    turns._waiting, turns._turn_s = waiting, 0.1
    call = Call(None, None, "s", 1000, clock.monotonic(), GatewaySettings(), clock, turns)
    clock.advance(0.1)
    assert call.time_left() == pytest.approx(left, abs=1e-5)
    assert call.time_left() > 0
