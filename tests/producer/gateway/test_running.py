"""A call's work runs in its turn, and only as long as its client waits."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_producer.gateway.body import Gone
from memsift_producer.gateway.call import Call
from memsift_producer.gateway.running import FOR_WAITING, Pace, Turns
from memsift_schemas import SystemClock
from memsift_schemas.settings import GatewaySettings


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


async def test_those_behind_decide_at_which_pace_a_call_is_answered(clock):
    # Given twenty calls of two seconds' patience, of which one at the model's pace takes .25 s
    turns, paces = Turns(clock), []
    takes = {Pace.MODEL: 0.25, Pace.PREFILTER: 0.125, Pace.AS_GIVEN: 0.01}
    begun, ends = 0.0, clock.monotonic() + 2

    async def work():
        nonlocal begun
        begun = clock.monotonic()
        paces.append(turns.pace(ends - begun))
        clock.advance(takes[paces[-1]])
        await asyncio.sleep(0)

    await asyncio.gather(*(turns.run(never, work()) for _ in range(20)))
    # Then each pace is tried once it is needed, and all of them begin in time
    assert paces[:2] == [Pace.MODEL, Pace.MODEL]
    assert set(paces) == set(Pace)
    assert begun <= ends
    # And as soon as the line is short again, the model is asked
    assert paces[-1] is Pace.MODEL


async def test_what_comes_between_two_calls_of_which_none_waits_is_no_turn(clock):
    turns, paces = Turns(clock), []

    async def work():
        paces.append(turns.pace(0.1))
        await asyncio.sleep(0)

    for _ in range(3):
        await turns.run(never, work())
        clock.advance(1000)
    assert turns._turn_s == {}
    assert paces == [Pace.MODEL] * 3


@given(
    waiting=st.integers(0, 50),
    costs=st.lists(st.floats(0.001, 1), min_size=3, max_size=3),
    left=st.floats(1e-6, 10),
)
def test_the_best_pace_that_lets_the_last_one_begin_in_time(waiting, costs, left):
    turns = Turns(SystemClock())
    turns._waiting, turns._turn_s = waiting, dict(zip(Pace, costs, strict=True))
    pace = turns.pace(left)
    fits = [one for one in Pace if waiting * turns._turn_s[one] <= FOR_WAITING * left]
    assert pace is (fits[0] if fits else Pace.AS_GIVEN)


def test_a_call_has_the_time_that_is_left_of_its_deadline_and_always_some(clock):
    call = Call(None, None, "s", 1000, clock.monotonic(), GatewaySettings(), clock, Turns(clock))
    clock.advance(0.25)
    assert call.time_left() == pytest.approx(0.75)
    assert call.time_left(500) == pytest.approx(0.25)
    clock.advance(2)
    assert call.time_left() > 0
