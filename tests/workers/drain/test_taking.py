"""The queue and a runtime's own list are both drained, whatever waits in the other."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from memsift_schemas.keys import own_key
from memsift_workers.drain import taking
from memsift_workers.drain.taking import QUEUE_SHARE, Taking

RUNTIME = "r"


class Runner:
    """A loop and a connection for the examples that hypothesis makes up."""

    def __init__(self, url, queue):
        self.queue = queue
        self.loop = asyncio.new_event_loop()
        self.redis = Redis.from_url(url)

    def run(self, work):
        return self.loop.run_until_complete(work)


@pytest.fixture
def runner(valkey_url, queue):
    one = Runner(valkey_url, queue)
    yield one
    one.run(one.redis.aclose())
    one.loop.close()


async def fill(redis, queue, *, own=0, common=0):
    """Jobs by list and age: `o0` is the oldest of the own list."""
    for key, letter, count in ((own_key(queue, RUNTIME), "o", own), (queue, "q", common)):
        if count:
            await redis.lpush(key, *(f"{letter}{at}" for at in range(count)))


def of(letter, items):
    return [item for item in items if item.startswith(letter.encode())]


@pytest.mark.parametrize("room", [1, 3, 16])
async def test_neither_list_starves_the_other(redis, queue, room):
    """Given both lists full, when batches of any size are taken, then each gets its share of every few."""
    await fill(redis, queue, own=200, common=200)
    one = Taking(redis, queue, RUNTIME)
    taken = [item for _ in range(96 // room) for item in await one.at_once(room)]
    assert len(taken) == 96
    assert abs(len(of("q", taken)) - 96 * QUEUE_SHARE) < 1
    for letter in "oq":
        mine = of(letter, taken)
        assert mine == [b"%s%d" % (letter.encode(), at) for at in range(len(mine))]


@pytest.mark.parametrize("share", [0.0, 1.0])
async def test_without_a_share_one_would_starve(redis, queue, share, monkeypatch):
    monkeypatch.setattr(taking, "QUEUE_SHARE", share)
    with pytest.raises(AssertionError):
        await test_neither_list_starves_the_other(redis, queue, 16)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(own=st.integers(0, 12), common=st.integers(0, 12), room=st.integers(1, 12), before=st.integers(0, 3))
def test_no_place_stays_empty_while_a_job_waits(runner, own, common, room, before):
    async def play():
        redis, queue = runner.redis, f"{runner.queue}:{own}:{common}:{room}:{before}"
        await redis.delete(queue, own_key(queue, RUNTIME))
        one = Taking(redis, queue, RUNTIME)
        for _ in range(before):
            await one.at_once(room)
        await fill(redis, queue, own=own, common=common)
        return await one.at_once(room)

    taken = runner.run(play())
    assert len(taken) == len(set(taken)) == min(room, own + common)


async def test_a_wait_ends_with_a_job_of_either_list(redis, queue):
    one = Taking(redis, queue, RUNTIME)
    assert await one.wait(4) == []
    await fill(redis, queue, common=2)
    assert await one.wait(4) == [b"q0", b"q1"]
    await fill(redis, queue, own=1, common=1)
    assert await one.wait(4) == [b"o0"]


async def test_a_worker_without_an_own_list_takes_from_the_queue_alone(redis, queue):
    await fill(redis, queue, own=2, common=2)
    one = Taking(redis, queue)
    assert await one.at_once(4) == [b"q0", b"q1"]
    assert not one.has_two
