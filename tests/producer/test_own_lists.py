"""A push goes to the favourite's own list, unless that is full or nobody drains it any more."""

import asyncio

import orjson
import pytest

from memsift_producer.admission import BATCHES_BEHIND, Admission
from memsift_producer.affinity import Affinity
from memsift_producer.breaker_state import Reading
from memsift_producer.cards import read_card
from memsift_producer.dispatch import Dispatch
from memsift_producer.outbox import Outbox
from memsift_schemas import Cause, keys
from memsift_schemas.redis_link import end
from memsift_schemas.waiting import Waiting
from tests.producer.frontends import frontends
from tests.samples import job

MOST = 3


def raw(runtime, **fields):
    return orjson.dumps(
        {"own": runtime, "serves": ["local"], "limit": 2 * MOST, "jobs_per_s": 10.0, **fields}
    )


class Fleet:
    """Workers' cards on Redis, and an outbox of a frontend that has read them."""

    def __init__(self, redis, queue, clock):
        self.redis, self.queue, self.clock = redis, queue, clock
        self.affinity = Affinity(queue, enabled=True)
        self.depths = []
        self.outbox = Outbox(
            *(redis, queue),
            most=20,
            clock=clock,
            affinity=self.affinity,
            on_depths=lambda *depths: self.depths.append(depths),
        )

    async def learn(self, **cards):
        """Each worker's runtime, or its whole card."""
        read = []
        for name, said in cards.items():
            said = said if isinstance(said, bytes) else raw(said)  # noqa: PLW2901
            await self.redis.set(keys.worker_key(self.queue, name), said)
            read.append(read_card(keys.worker_key(self.queue, name), said))
        self.affinity.learn(read)

    def own(self, runtime):
        return keys.own_key(self.queue, runtime)

    def favourite(self, runtime, ranker=None):
        """That of some session which has it there."""
        for at in range(1_000):
            found = self.affinity.favourite(job(session=f"s{at}", ranker=ranker))
            if found.own.key == self.own(runtime):
                return found
        raise AssertionError

    async def push(self, count, favourite, first=0):
        parcels = [
            self.outbox.put(str(at), b"%d" % at, self.clock.now + 1, favourite)
            for at in range(first, first + count)
        ]
        return [await parcel.taken for parcel in parcels]

    async def waiting(self, *lists):
        return [[int(item) for item in (await self.redis.lrange(one, 0, -1))[::-1]] for one in lists]


@pytest.fixture
async def fleet(redis, queue, clock):
    one = Fleet(redis, queue, clock)
    task = asyncio.create_task(one.outbox.run())
    yield one
    await end([task])


async def test_a_session_goes_to_its_own_list_and_what_it_has_no_room_for_to_anybody(fleet, queue):
    await fleet.learn(w="a", v="b")
    assert await fleet.push(5, fleet.favourite("a")) == [None] * 5
    assert await fleet.waiting(fleet.own("a"), queue, fleet.own("b")) == [[0, 1, 2], [3, 4], []]
    assert fleet.depths == [(2, {fleet.own("a"): 3, fleet.own("b"): 0})]
    assert await fleet.push(1, None, first=9) == [None]
    assert await fleet.waiting(queue) == [[3, 4, 9]]


async def test_a_backlog_in_the_queue_lets_the_own_list_grow_as_well(fleet, redis, queue):
    await fleet.learn(w="a", v="b")
    await redis.lpush(queue, *range(100, 103))
    await fleet.push(8, fleet.favourite("a"))
    assert await fleet.waiting(fleet.own("a"), queue) == [[0, 1, 2, 3, 4, 5], [100, 101, 102, 6, 7]]


async def test_a_dead_workers_list_gets_nothing_more(fleet, redis, queue):
    await fleet.learn(w="a", v="b")
    favourite = fleet.favourite("a")
    await redis.delete(keys.worker_key(queue, "w"))
    assert await fleet.push(2, favourite) == [None, None]
    assert await fleet.waiting(fleet.own("a"), queue) == [[], [0, 1]]


async def test_a_favourite_that_is_known_no_more_is_anybody_s(fleet, queue):
    await fleet.learn(w="a", v="b")
    favourite = fleet.favourite("a")
    await fleet.learn(v="b", u="c")
    await fleet.push(1, favourite)
    assert await fleet.waiting(fleet.own("a"), queue) == [[], [0]]


async def test_a_job_that_others_cannot_take_waits_for_who_can(fleet, redis, queue):
    await fleet.learn(w=raw("a", serves=["local", "jev>local"]), v="b")
    favourite = fleet.favourite("a", "jev>local")
    await fleet.push(5, favourite)
    assert await fleet.waiting(fleet.own("a"), queue) == [[0, 1, 2, 3, 4], []]
    await redis.delete(keys.worker_key(queue, "w"))
    await fleet.push(1, favourite)
    assert await fleet.waiting(queue) == [[0]]


async def test_the_bound_holds_over_all_lists(fleet, redis, queue):
    await fleet.learn(w=raw("a", limit=16), v=raw("b", limit=16))
    await redis.lpush(queue, *["x"] * 5)
    await redis.lpush(fleet.own("b"), *["x"] * 5)
    assert await fleet.push(12, fleet.favourite("a")) == [None] * 10 + [Cause.QUEUE_FULL] * 2
    assert await redis.llen(fleet.own("a")) == 10


async def test_an_own_list_goes_away_after_its_last_deadline(fleet, redis, queue):
    await fleet.learn(w="a", v="b")
    await fleet.push(1, fleet.favourite("a"))
    assert 55 < await redis.ttl(fleet.own("a")) <= 61


# Which list, and whether at all.


@pytest.fixture
def dispatch(clock):
    one = Dispatch(Affinity("q", enabled=True), Admission(clock))
    one.learn_cards([read_card("w", raw("a", batch_ms=100)), read_card("v", raw("b", batch_ms=100))])
    return one


def reading(clock, queue=0, own=(0, 0), ages=(0.0, 0.0, 0.0)):
    depths = (queue, *own)
    waits = [
        Waiting(depth, clock.now - age) if depth else Waiting()
        for depth, age in zip(depths, ages, strict=True)
    ]
    return Reading(workers=("w", "v"), queue=waits[0], own={"q:own:a": waits[1], "q:own:b": waits[2]})


def session_of(dispatch, key):
    return next(
        one
        for one in (job(session=f"s{at}") for at in range(1_000))
        if dispatch.affinity.favourite(one).own.key == key
    )


def where(dispatch, time_left=1.0, **more):
    """Where a session of runtime `a` is sent."""
    told = {"ahead": 0, "is_probe": False, **more}
    found = dispatch.choose(session_of(dispatch, "q:own:a"), time_left, **told)
    return found if isinstance(found, Cause) else found.own.key if found else "queue"


def test_the_wait_is_that_in_the_list_that_the_job_goes_to(dispatch, clock):
    dispatch.learn(reading(clock, queue=200, own=(1, 0)))
    own = dispatch.affinity.favourite(session_of(dispatch, "q:own:a")).own
    assert dispatch.admission.expected_s(own=own) == pytest.approx(1 / 10 + BATCHES_BEHIND * 0.1)
    assert dispatch.admission.expected_s() == pytest.approx(201 / 20 + BATCHES_BEHIND * 0.1)
    assert where(dispatch) == "q:own:a"


def test_what_would_spill_is_judged_by_the_queue_too(dispatch, clock):
    dispatch.learn(reading(clock, own=(MOST, 0)))
    assert where(dispatch) == "q:own:a"  # the push itself decides: by now there may be room
    dispatch.learn(reading(clock, queue=7, own=(MOST + 7, 0)))
    assert where(dispatch) is Cause.OVERLOADED


def test_where_others_are_no_less_busy_a_session_stays(dispatch, clock):
    dispatch.learn(reading(clock, queue=4, own=(MOST + 3, 0)))
    assert where(dispatch) == "q:own:a"


def test_a_list_that_does_not_move_spills_before_its_card_is_gone(dispatch, clock):
    dispatch.learn(reading(clock, own=(1, 0), ages=(0.0, 0.9, 0.0)))
    assert where(dispatch) == "queue"
    assert where(dispatch, time_left=5.0) == "q:own:a"


def test_a_probe_goes_to_whoever_is_free(dispatch, clock):
    dispatch.learn(reading(clock))
    assert where(dispatch, is_probe=True) == "queue"


def test_a_job_that_only_some_serve_is_refused_where_it_would_wait_for_too_long(dispatch, clock):
    dispatch.learn_cards([read_card("w", raw("a")), read_card("v", raw("b", serves=["jev"]))])
    dispatch.learn(reading(clock, own=(1, 0), ages=(0.0, 0.9, 0.0)))
    asked = job(ranker="local")
    assert dispatch.choose(asked, 0.5, ahead=0, is_probe=False) is Cause.OVERLOADED
    assert dispatch.choose(asked, 5.0, ahead=0, is_probe=False).own.key == "q:own:a"
    assert dispatch.choose(asked, 5.0, ahead=0, is_probe=True).own.key == "q:own:a"


async def test_own_lists_are_read_with_the_queue(valkey_url, redis, clock):
    async with frontends(valkey_url, clock, 1) as (one,):
        queue = one.watch._settings.queue
        for name, runtime in (("w", "a"), ("v", "b")):
            await redis.set(keys.worker_key(queue, name), raw(runtime))
            await redis.zadd(keys.workers_key(queue), {name: clock.now})
        clock.advance(1.0)
        await one.look()  # reads the cards
        await redis.lpush(keys.own_key(queue, "a"), b"\x00noise", b"x")
        await redis.lpush(queue, b"y")
        seen = await one.look()
    assert seen.queue.depth == 1
    assert {key: waiting.depth for key, waiting in seen.own.items()} == {
        keys.own_key(queue, "a"): 2,
        keys.own_key(queue, "b"): 0,
    }
