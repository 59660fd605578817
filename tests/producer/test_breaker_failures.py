"""What counts as a failure of the system, and what says something about one job or one caller."""

import time

import orjson
import pytest

from memsift_producer.breaker import UNKNOWN_ANSWER_S
from memsift_producer.breaker_state import STALE_S
from memsift_schemas import Cause, keys
from tests.producer.frontends import frontends, is_token, opened


@pytest.mark.parametrize("first", [0, 1])
async def test_failures_of_calls_that_were_sent_before_an_answer_say_nothing(valkey_url, clock, first):
    """A worker is killed with a batch of 50, another serves; in whatever order the two frontends report."""
    async with frontends(valkey_url, clock, 2) as some:
        for _ in range(50):
            await some[0].breaker.admit(1.0)
        clock.advance(0.2)
        await some[1].call()
        clock.advance(0.2)
        for _ in range(50):
            some[0].breaker.record("", Cause.DEADLINE, 0.4, had=0.4)
        if first == 0:
            # They count until the other's answer is known: nine at most, or it would be open.
            some[0].breaker._tally.failed = some[0].breaker._tally.failed[:9]
        for at in (first, 1 - first, 0):
            await some[at].look()
        assert (some[0].breaker.reading.open, some[0].breaker.reading.failures) == (False, 0)


async def test_an_answer_meanwhile_keeps_it_closed_in_one_process_too(valkey_url, clock):
    async with frontends(valkey_url, clock, 1) as (one,):
        for _ in range(20):
            await one.call()
            clock.advance(0.3)
            for _ in range(30):
                one.breaker.record("", Cause.DEADLINE, 0.4, had=0.4)
            assert not one.breaker.is_open
            assert not (await one.look()).open


async def present(redis, one, clock, **card):
    """One worker that is present with this card, known to `one`."""
    queue = one.watch._settings.queue
    await redis.zadd(keys.workers_key(queue), {"w": clock.now})
    await redis.set(keys.worker_key(queue, "w"), orjson.dumps(card))
    clock.advance(1.1)
    await one.look()


async def test_calls_with_less_time_than_an_answer_takes_do_not_open_it(valkey_url, redis, clock):
    async with frontends(valkey_url, clock, 1) as (one,):
        await present(redis, one, clock, batch_ms=250)
        for _ in range(30):
            await one.call(Cause.DEADLINE, 0.2, had=0.2)
            await one.call(Cause.REDIS_UNAVAILABLE, 0.2, had=0.2)
        assert not one.breaker.is_open
        for _ in range(10):
            await one.call(Cause.DEADLINE, 0.3, had=0.3)
        assert one.breaker.is_open


async def test_what_an_answer_takes_is_the_median_of_those_seen_here(valkey_url, redis, clock):
    async with frontends(valkey_url, clock, 1) as (one,):
        await present(redis, one, clock, batch_ms=None)
        assert one.breaker.usual_s == UNKNOWN_ANSWER_S
        for seconds in (0.2, 0.3, 0.9):
            await one.call(None, seconds)
        assert one.breaker.usual_s == 0.3


async def test_where_no_worker_is_present_impatient_calls_count_too(valkey_url, clock):
    async with frontends(valkey_url, clock, 1) as (one,):
        for _ in range(10):
            await one.call(Cause.DEADLINE, 0.005, had=0.005)
        assert one.breaker.is_open


async def test_a_refusal_that_came_in_time_counts_however_impatient_the_call(valkey_url, redis, clock):
    async with frontends(valkey_url, clock, 1) as (one,):
        await present(redis, one, clock, batch_ms=80)
        for _ in range(10):
            await one.call(Cause.RUNTIME_UNAVAILABLE, 0.005, had=0.05)
        assert one.breaker.is_open


async def test_an_impatient_call_probes_when_no_other_came_for_an_interval(valkey_url, redis, clock):
    async with frontends(valkey_url, clock, 1) as (one,):
        await present(redis, one, clock, batch_ms=80)
        await opened([one])
        clock.advance(1.5)
        assert await one.ask_for_probe(had=0.05) is Cause.BREAKER_OPEN
        clock.advance(0.5)
        assert is_token(await one.ask_for_probe(had=0.05))


async def test_a_report_that_redis_runs_late_opens_nothing(valkey_url, clock):
    """What a stopped server finds in its sockets when it wakes."""
    async with frontends(valkey_url, clock, 2) as some:
        now = time.time()
        for age, opens in ((1.5, False), (0.0, True)):
            clock.now = now - age
            some[0].watch._state.stale_s = STALE_S
            for _ in range(10):
                await some[0].call(Cause.DEADLINE)
            await some[0].look()
            assert (await some[1].look()).open is opens


async def test_what_was_sent_before_it_closed_says_nothing_after(valkey_url, clock):
    async with frontends(valkey_url, clock, 2) as some:
        await opened(some)
        clock.advance(1)
        some[0].breaker.record(await some[0].ask_for_probe(), None, 0.01)
        for one in some:
            await one.look()
        for _ in range(10):
            some[1].breaker.record("", Cause.DEADLINE, 2.0)
        assert not some[1].breaker.is_open
        assert not (await some[1].look()).open
