"""A job that cannot make its deadline behind those that wait is not sent."""

import orjson
import pytest

from memsift_producer.admission import BATCHES_BEHIND, FRESH_S, Admission
from memsift_producer.breaker_state import Reading
from memsift_producer.cards import read_card
from memsift_producer.watch import CARDS_EVERY_S
from memsift_schemas import Cause, keys, message, wire
from memsift_schemas.job import RerankJob
from memsift_schemas.waiting import Waiting
from tests.producer.frontends import frontends
from tests.samples import NOW, memories

LIFE_S = 4.0


@pytest.fixture
def admission(clock):
    return Admission(clock)


def reading(clock, depth, age=0.0):
    return Reading(queue=Waiting(depth, clock.now - age if depth else None), workers=("w",))


def raw_card(**fields):
    return orjson.dumps({"pid": 1, **fields})


def card(**fields):
    return read_card("w", raw_card(**fields))


def job(sent_at, text="The spare key is under the pot."):
    return RerankJob(
        id="j",
        query=text,
        now=NOW,
        candidates=tuple(memories(2)),
        deadline=sent_at + LIFE_S,
        sent_at=sent_at,
        reply_to="r",
    )


def test_an_empty_queue_admits_all(admission, clock):
    admission.learn(reading(clock, 0))
    admission.answered(10_000.0)
    assert admission.admits(0.001)


def test_with_throughput_the_wait_is_depth_over_it_and_the_time_to_rank(admission, clock):
    admission.learn(reading(clock, 60))
    admission.learn_cards([card(jobs_per_s=100, batch_ms=50), card(jobs_per_s=50.0, batch_ms=40)])
    assert admission.expected_s() == pytest.approx(60 / 150 + BATCHES_BEHIND * 0.05)
    assert admission.admits(admission.expected_s() + 0.001)
    assert not admission.admits(admission.expected_s())
    assert admission.expected_s(ahead=15) == pytest.approx(75 / 150 + BATCHES_BEHIND * 0.05)


def test_without_throughput_it_is_the_age_of_the_oldest(admission, clock):
    admission.learn(reading(clock, 3, age=0.3))
    assert admission.expected_s() == pytest.approx(0.3)
    admission.answered(20.0)
    assert admission.expected_s() == pytest.approx(0.3 + BATCHES_BEHIND * 0.02)


def test_an_old_job_shows_a_worker_that_has_stopped(admission, clock):
    admission.learn(reading(clock, 1, age=4.0))
    admission.learn_cards([card(jobs_per_s=1000)])
    assert not admission.admits(3.9)


def test_a_worker_that_was_never_busy_counts_like_the_others(admission, clock):
    admission.learn(reading(clock, 90))
    admission.learn_cards([card(jobs_per_s=100), card(jobs_per_s=200), card(jobs_per_s=None)])
    assert admission.expected_s() == pytest.approx(90 / 450)


@pytest.mark.parametrize(
    "said",
    [
        *[None, b"noise", b"[]", raw_card(), raw_card(jobs_per_s="many"), raw_card(jobs_per_s=None)],
        raw_card(jobs_per_s=-1),
    ],
)
def test_a_card_without_throughput_says_nothing(admission, clock, said):
    admission.learn(reading(clock, 1_000, age=0.2))
    admission.learn_cards([read_card("w", said)])
    assert admission.expected_s() == pytest.approx(0.2)


def test_a_push_tells_the_depth_too(admission, clock):
    admission.learn(reading(clock, 0))
    admission.learn_cards([card(jobs_per_s=100)])
    admission.pushed(100, {})
    assert admission.expected_s() == pytest.approx(1.0)


def test_old_news_refuses_nobody(admission, clock):
    admission.learn(reading(clock, 1_000, age=100))
    assert not admission.admits(1)
    clock.advance(FRESH_S + 0.1)
    assert admission.admits(1)


@pytest.mark.parametrize("text", ["plain", ',"sent_at":1,', '\\",\\"sent_at\\":1', '"sent_at":1.5'])
async def test_depth_age_and_workers_are_read_from_redis(valkey_url, redis, clock, text):
    async with frontends(valkey_url, clock, 1) as (one,):
        queue = one.watch._settings.queue
        for waited in (2.5, 0.5):
            old = job(clock.now - waited, text)
            await redis.lpush(queue, message.build(old, wire.encode_job(old), queue))
        await redis.zadd(keys.workers_key(queue), {"here": clock.now, "gone": clock.now - 60})
        await redis.set(keys.worker_key(queue, "here"), raw_card(jobs_per_s=1.0))
        await redis.set(keys.worker_key(queue, "gone"), raw_card(jobs_per_s=1.0))
        clock.advance(1.0)
        seen = await one.look()
        assert (seen.queue.depth, seen.workers) == (2, ("here",))
        assert clock.now - seen.queue.oldest_sent_at == pytest.approx(3.5)
        assert seen.queue.oldest_expires_at - seen.queue.oldest_sent_at == pytest.approx(LIFE_S)
        assert one.admission.expected_s() == pytest.approx(3.5)


@pytest.mark.parametrize(("expired_for", "counts"), [(-1.0, True), (0.9, True), (1.1, False), (60.0, False)])
def test_what_expired_long_ago_is_no_load(admission, clock, expired_for, counts):
    sent_at, expires_at = clock.now - 100, clock.now - expired_for
    admission.learn(Reading(queue=Waiting(1, sent_at, expires_at), workers=("w",)))
    assert admission.admits(50.0) is not counts


def test_where_no_worker_is_present_nothing_is_overloaded(admission, clock):
    admission.learn_cards([card(jobs_per_s=1.0)])
    admission.learn(Reading(queue=Waiting(1_000, clock.now - 100)))
    assert admission.admits(0.1)


async def test_items_that_are_no_messages_have_no_age(valkey_url, redis, clock):
    async with frontends(valkey_url, clock, 1) as (one,):
        await redis.lpush(one.watch._settings.queue, b"\x00noise")
        assert (await one.look()).queue.oldest_sent_at is None


async def test_the_reranker_answers_an_overload_at_once(reranker, worker):
    worker.answer = lambda job: None
    waiting = Reading(queue=Waiting(10, reranker._clock.time() - 60), workers=("w",))
    reranker._parts.dispatch.admission.learn(waiting)
    reranking = await reranker.rerank(memories=memories(4), query="Where is it?", deadline=5)
    assert reranking.cause is Cause.OVERLOADED
    assert worker.jobs == []


async def test_a_paused_worker_counts_for_nothing(valkey_url, clock, redis):
    # Given one worker that drains, and a much faster one that is paused
    async with frontends(valkey_url, clock, 1) as (one,):
        queue = one.watch._settings.queue
        for name, said in (("w", {"jobs_per_s": 10.0}), ("v", {"jobs_per_s": 990.0, "paused": True})):
            told = {**said, "own": name, "limit": 4, "serves": ["local"]}
            await redis.set(keys.worker_key(queue, name), orjson.dumps(told))
            await redis.zadd(keys.workers_key(queue), {name: clock.now})
        # When a frontend reads their cards
        clock.advance(CARDS_EVERY_S)
        await one.look()
        await one.look()
        # Then it reckons with the one alone, and sends no session to the other
        assert one.admission._jobs_per_s == 10.0
        assert [own.runtime for own in one.affinity.lists] == ["w"]
