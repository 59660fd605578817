"""The breaker over many frontends: when it opens, who probes, when it closes, and who says so."""

import asyncio
import logging

import pytest

from memsift_producer import watch
from memsift_producer.breaker import FAILURES
from memsift_schemas import Cause
from tests.producer.frontends import FAST, frontends, is_token, opened

SLOW = 1.5


@pytest.fixture
def told(monkeypatch):
    """What would go to Sentry."""
    messages = []
    monkeypatch.setattr("sentry_sdk.is_initialized", lambda: True)
    monkeypatch.setattr("sentry_sdk.capture_message", lambda text, **_: messages.append(text))
    return messages


@pytest.fixture
def counted(monkeypatch):
    """What would be counted in Sentry."""
    counts = []
    monkeypatch.setattr("sentry_sdk.metrics.count", lambda name, value, **more: counts.append((name, value)))
    return counts


async def test_ten_failures_in_a_row_open_it_in_every_process(valkey_url, clock):
    async with frontends(valkey_url, clock, 3) as some:
        await opened(some)
        assert [await one.call() for one in some] == [Cause.BREAKER_OPEN] * 3


async def test_nine_do_not(valkey_url, clock):
    async with frontends(valkey_url, clock, 3) as some:
        await opened(some, 9)
        assert [await one.call() for one in some] == [None] * 3


async def test_the_failures_of_all_processes_count_together(valkey_url, clock):
    async with frontends(valkey_url, clock, 5) as some:
        for one in some * 2:
            assert await one.call(Cause.RUNTIME_TIMEOUT) is None
            await one.look()
        for one in some:
            await one.look()
        assert {await one.call() for one in some} == {Cause.BREAKER_OPEN}


async def test_one_success_anywhere_begins_the_count_anew(valkey_url, clock):
    async with frontends(valkey_url, clock, 2) as some:
        for _ in range(9):
            await some[0].call(Cause.DEADLINE)
        await some[0].look()
        await some[1].call()
        for one in reversed(some):
            await one.look()
        clock.advance(1)
        for _ in range(9):
            await some[0].call(Cause.DEADLINE)
        assert not (await some[0].look()).open
        assert some[0].breaker.reading.failures == 9


async def test_the_eleventh_call_is_not_sent_even_before_redis_heard_of_the_ten(valkey_url, clock):
    async with frontends(valkey_url, clock, 1) as (one,):
        for _ in range(5):
            await one.call(Cause.DEADLINE)
        on_their_way = one.breaker.report()
        for _ in range(5):
            assert await one.call(Cause.DEADLINE) is None
        assert await one.call() is Cause.BREAKER_OPEN
        assert len(on_their_way[0].failed) == 5


@pytest.mark.parametrize("cause", sorted(set(Cause) - FAILURES))
async def test_what_is_no_fault_of_the_workers_does_not_count(valkey_url, clock, cause):
    async with frontends(valkey_url, clock, 1) as (one,):
        for _ in range(30):
            await one.call(cause)
        reading = await one.look()
        assert (reading.open, reading.failures) == (False, 0)


@pytest.mark.parametrize(
    ("fast", "slow", "opens"),
    [(98, 2, True), (99, 1, False), (97, 2, False), (500, 4, False), (0, 100, True)],
)
async def test_it_opens_when_the_99th_percentile_is_over_the_limit(valkey_url, clock, fast, slow, opens):
    async with frontends(valkey_url, clock, 2) as some:
        for at in range(fast + slow):
            await some[at % 2].call(None, FAST if at < fast else SLOW)
        for one in some * 2:
            await one.look()
        assert some[0].breaker.reading.open is opens
        assert some[0].breaker.reading.reason == ("slow" if opens else "")


async def test_the_window_slides(valkey_url, clock):
    async with frontends(valkey_url, clock, 1) as (one,):
        for seconds, count in ((SLOW, 60), (FAST, 39)):
            for _ in range(count):
                await one.call(None, seconds)
            await one.look()
        clock.advance(11)
        for _ in range(100):
            await one.call()
        assert not (await one.look()).open


async def test_no_probe_before_its_time_and_one_after_it(valkey_url, clock):
    async with frontends(valkey_url, clock, 2) as some:
        await opened(some)
        clock.advance(0.999)
        assert await some[0].call() is Cause.BREAKER_OPEN
        clock.advance(0.001)
        assert is_token(await some[0].ask_for_probe())
        assert await some[1].ask_for_probe() is Cause.BREAKER_OPEN


async def test_of_fifty_processes_one_probes(valkey_url, clock, monkeypatch):
    monkeypatch.setattr("memsift_producer.breaker.CLAIM_WAIT_S", 10.0)  # fifty looks take their time
    async with frontends(valkey_url, clock, 50) as some:
        await opened(some)
        for _ in range(3):
            clock.advance(1)
            answers = await asyncio.gather(*(one.ask_for_probe() for one in some for _ in range(2)))
            probes = [answer for answer in answers if answer is not Cause.BREAKER_OPEN]
            assert len(probes) == 1
            prober = some[answers.index(probes[0]) // 2]
            prober.breaker.record(probes[0], Cause.DEADLINE, FAST)
            await prober.look()


async def test_a_probe_that_is_answered_closes_it_for_all(valkey_url, clock):
    async with frontends(valkey_url, clock, 2) as some:
        await opened(some)
        clock.advance(1)
        some[1].breaker.record(await some[1].ask_for_probe(), None, FAST)
        for one in reversed(some):
            assert not (await one.look()).open
        assert [await one.call() for one in some] == [None, None]
        assert some[0].breaker.reading.failures == 0


@pytest.mark.parametrize(("cause", "seconds"), [(Cause.RANKER_ERROR, FAST), (None, SLOW)])
async def test_a_probe_that_fails_or_is_slow_keeps_it_open_for_an_interval(valkey_url, clock, cause, seconds):
    async with frontends(valkey_url, clock, 1, breaker_probe_ms=5_000) as (one,):
        await opened([one])
        clock.advance(5)
        one.breaker.record(await one.ask_for_probe(), cause, seconds)
        assert (await one.look()).open
        clock.advance(4.9)
        assert await one.call() is Cause.BREAKER_OPEN
        clock.advance(0.1)
        assert is_token(await one.ask_for_probe())


async def test_a_probe_that_tells_nothing_leaves_its_place_to_another(valkey_url, clock):
    async with frontends(valkey_url, clock, 2) as some:
        await opened(some)
        clock.advance(1)
        some[0].breaker.record(await some[0].ask_for_probe(), Cause.QUEUE_FULL, FAST)
        await some[0].look()
        await some[1].look()
        assert is_token(await some[1].ask_for_probe())


async def test_a_process_that_dies_with_the_probe_blocks_nobody_for_long(valkey_url, clock):
    async with frontends(valkey_url, clock, 2) as some:
        await opened(some)
        clock.advance(1)
        await some[0].ask_for_probe()
        await some[1].look()
        clock.advance(1.9)
        assert await some[1].ask_for_probe() is Cause.BREAKER_OPEN
        clock.advance(0.2)
        assert is_token(await some[1].ask_for_probe())


async def test_a_cancelled_call_gives_the_probe_back(valkey_url, clock):
    async with frontends(valkey_url, clock, 1) as (one,):
        await opened([one])
        clock.advance(1)
        asking = asyncio.create_task(one.breaker.admit(1.0))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await one.look()
        await one.look()
        assert is_token(await one.ask_for_probe())


async def test_only_the_process_that_opened_it_tells_sentry_and_the_log(
    valkey_url, clock, told, counted, caplog
):
    caplog.set_level(logging.INFO, "memsift.producer")
    async with frontends(valkey_url, clock, 5) as some:
        await opened(some)
        clock.advance(1)
        some[2].breaker.record(await some[2].ask_for_probe(), Cause.DEADLINE, FAST)
        for one in some:
            await one.look()
        (message,) = told
        assert counted == [("memsift.breaker.opened", 1)]
        assert "the last 10 calls in a row got no answer from a worker" in message
        assert [record.levelname for record in caplog.records] == ["ERROR"]
        assert [[change.ours for change in one.changes] for one in some] == [[True]] + [[False]] * 4


async def test_a_hook_that_raises_stops_nothing(valkey_url, clock, told, caplog):
    async with frontends(valkey_url, clock, 1) as (one,):
        one.watch._on_breaker = lambda change: 1 / 0
        await opened([one])
        assert (await one.look()).open
        assert "raised ZeroDivisionError" in caplog.text


async def test_without_redis_calls_fall_back_at_once_and_say_why(valkey_url, clock):
    async with frontends(valkey_url, clock, 1) as (one,):
        one.breaker.lost()
        assert await one.call() is Cause.REDIS_UNAVAILABLE
        await one.look()
        assert await one.call() is None


async def test_what_failed_while_redis_was_away_is_not_held_against_the_workers(valkey_url, clock):
    async with frontends(valkey_url, clock, 1) as (one,):
        for _ in range(30):
            await one.call(Cause.REDIS_UNAVAILABLE)
        one.breaker.lost()
        for _ in range(30):
            one.breaker.record("", Cause.REDIS_UNAVAILABLE, FAST)  # was sent before
        reading = await one.look()
        assert (reading.open, reading.failures) == (False, 0)


async def test_a_probe_that_was_given_up_says_nothing_any_more(valkey_url, clock):
    async with frontends(valkey_url, clock, 2) as some:
        await opened(some)
        clock.advance(1)
        late = await some[0].ask_for_probe()
        clock.advance(2.1)
        await some[1].look()
        assert is_token(await some[1].ask_for_probe())
        some[0].breaker.record(late, None, FAST)
        reading = await some[0].look()
        assert reading.open
        assert reading.probe_until > clock.now


async def test_a_probe_granted_to_a_caller_who_has_just_gone_is_given_back(valkey_url, clock, monkeypatch):
    async with frontends(valkey_url, clock, 1) as (one,):
        await opened([one])
        clock.advance(1)
        asking = asyncio.create_task(one.breaker.admit(1.0))
        await asyncio.sleep(0)
        exchange = one.watch._state.exchange

        async def meanwhile(*arguments, **more):
            reading = await exchange(*arguments, **more)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            return reading

        monkeypatch.setattr(one.watch._state, "exchange", meanwhile)
        assert (await one.look()).granted
        monkeypatch.undo()
        assert (await one.look()).probe_until == 0
        assert is_token(await one.ask_for_probe())


async def test_news_is_reported_at_once_and_routine_is_not(valkey_url, clock):
    async with frontends(valkey_url, clock, 1) as (one,):
        told = one.breaker.wake.is_set
        await one.call()
        assert not told()
        clock.advance(1)
        await one.call(Cause.DEADLINE)
        assert told()
        await one.look()
        assert not told()
        await one.call()
        assert told()


async def test_half_way_to_opening_news_is_looked_for_often_and_without_calls_seldom(valkey_url, clock):
    async with frontends(valkey_url, clock, 1) as (one,):
        assert one.watch._rest_s() == watch.IDLE_POLL_S
        for _ in range(4):
            await one.call(Cause.DEADLINE)
        assert one.watch._rest_s() == watch.POLL_S
        await one.look()
        await one.call(Cause.DEADLINE)
        assert one.watch._rest_s() == watch.ANXIOUS_POLL_S
        await opened([one], 5)
        assert one.watch._rest_s() == watch.POLL_S
        clock.advance(2)
        assert one.watch._rest_s() == watch.IDLE_POLL_S
