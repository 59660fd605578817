"""What becomes of each job shows in the metrics, once, and under labels out of the settings alone."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from memsift_schemas import Cause, Refusal, RerankResult, Source, message, wire
from memsift_schemas.deck_use import DeckUse, Miss
from memsift_schemas.metrics import catalogue
from memsift_schemas.metrics.instruments import Instruments
from memsift_schemas.settings import WorkerSettings
from memsift_workers.drain.batch import BatchHandler
from memsift_workers.drain.delivery import receive
from memsift_workers.drain.popped import Popped
from memsift_workers.metering.meter import BatchMeter, Meter
from memsift_workers.strategies.likelihood import Likelihood
from tests.fakes import FakeRuntime, local_ranker
from tests.samples import NOW, job

SENT = NOW.timestamp()
SECRET = "xyzzy-secret"


class Silent:
    def send(self, kind, **fields):
        pass


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
def meter(registry):
    settings = WorkerSettings(also_serve="jev", batch_max=8)
    return BatchMeter(Instruments(catalogue.WORKER, registry), settings)


@pytest.fixture
def value(registry):
    """A sample's value; 0 where it has never been counted."""
    return lambda name, **labels: registry.get_sample_value(f"memsift_worker_{name}", labels) or 0


def delivery(**fields):
    whole = job(reply_to="memsift.rerank:reply:t", **fields)
    raw = message.build(whole, wire.encode_job(whole), "memsift.rerank")
    return receive(raw, queue="memsift.rerank", now=SENT)


def result(one, **fields):
    return RerankResult(job_id=one.envelope.id, ranking=(), source=Source.MODEL, **fields)


def refusal(one, cause):
    return Refusal(job_id=one.envelope.id, cause=cause)


def end(meter, *answered, at=SENT + 0.2, **model_s):
    ids = [one.envelope.id for one, _ in answered]
    spent = dict(zip(ids, model_s.get("model_s", [0.1] * len(ids)), strict=True))
    meter.ended(answered, spent, judged_at=at, replied_at=at)


def test_outcomes_and_causes(meter, value):
    some = [delivery() for _ in range(5)]
    end(
        meter,
        (some[0], result(some[0])),
        (some[1], result(some[1])),
        (some[2], refusal(some[2], Cause.TOO_LATE)),
        (some[3], refusal(some[3], Cause.CANCELLED)),
        (some[4], refusal(some[4], Cause.RUNTIME_GARBAGE)),
    )

    def jobs(outcome, cause):
        return value("jobs_total", ranker="local", outcome=outcome, cause=cause)

    assert jobs("ranked", "none") == 2
    assert jobs("revoked", "too_late") == jobs("revoked", "cancelled") == 1
    assert jobs("failed", "runtime_garbage") == 1
    assert jobs("late", "none") == 0


def test_a_ranking_that_nobody_waits_for_is_late_and_its_time_was_spent_on_the_dead(meter, value):
    live, dead, expired = delivery(), delivery(deadline=SENT + 0.1), delivery(deadline=SENT + 0.1)
    answered = [(live, result(live)), (dead, result(dead)), (expired, refusal(expired, Cause.EXPIRED))]
    end(meter, *answered, model_s=[0.1, 0.2, 0.4])
    assert value("jobs_total", ranker="local", outcome="late", cause="none") == 1
    assert value("model_seconds_total", fate="answered") == pytest.approx(0.1)
    assert value("model_seconds_total", fate="dead") == pytest.approx(0.6)
    assert value("model_seconds_total", fate="failed") == 0


def test_what_is_refused_before_the_model_costs_no_model_time(meter, value):
    one = delivery(deadline=SENT + 0.1)
    meter.ended([(one, refusal(one, Cause.EXPIRED))], {}, judged_at=SENT + 1, replied_at=SENT + 1)
    assert {value("model_seconds_total", fate=fate) for fate in ("answered", "dead", "failed")} == {0}


def test_times_of_a_job(meter, value):
    one = delivery(deadline=SENT + 0.4)
    meter.took([one], fill=0.25, at=SENT + 0.12)
    end(meter, (one, result(one)), at=SENT + 0.31)
    assert value("batch_fill_ratio_sum") == 0.25
    assert value("queue_seconds_bucket", le="0.1") == 0
    assert value("queue_seconds_bucket", le="0.15") == 1
    assert value("reply_seconds_bucket", le="0.3") == 0
    assert value("reply_seconds_bucket", le="0.35") == 1
    assert value("slack_seconds_sum") == pytest.approx(0.09, abs=1e-5)


def test_a_late_ranking_has_no_slack_and_no_time_to_reply(meter, value):
    one = delivery(deadline=SENT + 0.1)
    end(meter, (one, result(one)))
    assert value("slack_seconds_bucket", le="0.0") == 1
    assert value("reply_seconds_count") == 0


def test_tokens_by_why_they_were_not_cached(meter, value):
    deck = DeckUse(turn=2, memories=5, stale=0, tokens=90, stale_tokens=0, expected_tokens=80)
    some = [delivery() for _ in range(3)]
    end(
        meter,
        (some[0], result(some[0], prompt_tokens=100, cached_tokens=80, deck=deck)),
        (some[1], result(some[1], prompt_tokens=50, deck=deck.model_copy(update={"miss": Miss.EVICTED}))),
        (some[2], result(some[2], prompt_tokens=7, cached_tokens=3, output_tokens=2)),
    )
    told = {
        deck: (
            value("prompt_tokens_total", ranker="local", deck=deck),
            value("cached_tokens_total", ranker="local", deck=deck),
        )
        for deck in ("hit", "evicted", "no_deck")
    }
    assert told == {"hit": (100, 80), "evicted": (50, 0), "no_deck": (7, 3)}
    assert value("output_tokens_total", ranker="local") == 2


def test_what_a_job_names_is_no_label(meter, registry, value):
    """Given jobs that name rankers of their own making, then all are one `other`."""
    some = [delivery(ranker=f"{SECRET}{at}") for at in range(3)]
    end(meter, *((one, refusal(one, Cause.UNKNOWN_RANKER)) for one in some))
    known = delivery(ranker="jev")
    end(meter, (known, result(known)))
    assert value("jobs_total", ranker="other", outcome="failed", cause="unknown_ranker") == 3
    assert value("jobs_total", ranker="jev", outcome="ranked", cause="none") == 1
    assert SECRET.encode() not in generate_latest(registry)


async def handled(redis, queue, clock, meter, items, runtime=None, **settings):
    clock.now = SENT
    handler = BatchHandler(
        redis=redis,
        settings=WorkerSettings(queue=queue, **settings),
        rankers={"local": local_ranker(runtime or FakeRuntime(), Likelihood(weight_en=1.0, weight_zh=1.0))},
        clock=clock,
        events=Silent(),
        meter=meter,
    )
    await handler.handle(Popped(items, clock.time()))
    return handler


def message_of(queue, **fields):
    whole = job(reply_to=f"{queue}:reply:t", **fields)
    return message.build(whole, wire.encode_job(whole), queue)


async def test_a_batch_counts_as_often_as_the_workers_own_tally(redis, queue, clock, meter, value, registry):
    """Given good, expired, foreign and unreadable items in one batch, then metrics and tally agree."""
    items = [
        message_of(queue, query=f"{SECRET}?", user=SECRET, session=SECRET),
        message_of(queue),
        message_of(queue, deadline=SENT - 1),
        message_of(queue, ranker="oracle"),
        b"nonsense",
    ]
    handler = await handled(redis, queue, clock, meter, items)
    assert handler.tally == {"ranked": 2, "expired": 1, "unknown_ranker": 1, "poison_unreadable": 1}
    assert value("jobs_total", ranker="local", outcome="ranked", cause="none") == 2
    assert value("jobs_total", ranker="local", outcome="revoked", cause="expired") == 1
    assert value("jobs_total", ranker="other", outcome="failed", cause="unknown_ranker") == 1
    assert value("poison_items_total", why="unreadable") == 1
    assert value("rank_seconds_count", ranker="local") == 1
    assert value("in_flight_jobs") == 0
    assert SECRET.encode() not in generate_latest(registry)


async def test_jobs_are_in_flight_while_their_ranker_has_them(redis, queue, clock, meter, value):
    seen = []

    def look(call):
        seen.append(value("in_flight_jobs"))
        return FakeRuntime.by_words(call)

    await handled(redis, queue, clock, meter, [message_of(queue), message_of(queue)], FakeRuntime(look))
    assert set(seen) == {2}
    assert value("in_flight_jobs") == 0


async def test_a_ranker_that_breaks_leaves_none_in_flight(redis, queue, clock, meter, value):
    async def broken(*_args, **_more):
        raise asyncio.CancelledError

    runtime = FakeRuntime()
    runtime.run = broken
    with pytest.raises(asyncio.CancelledError):
        await handled(redis, queue, clock, meter, [message_of(queue)], runtime)
    assert value("in_flight_jobs") == 0


async def test_replies_that_redis_refuses_are_counted(redis, queue, clock, meter, value):
    await redis.set(f"{queue}:reply:t", "no list")
    await handled(redis, queue, clock, meter, [message_of(queue)])
    assert value("lost_replies_total") == 1


def test_a_worker_without_metrics_counts_nothing():
    one = delivery()
    meter = Meter()
    meter.took([one], fill=0.125, at=SENT)
    meter.entered(1)
    meter.left("local", 1, 0.1)
    end(meter, (one, result(one)))
    assert vars(meter) == {}
