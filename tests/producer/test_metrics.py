"""What a frontend's calls come to, counted once each, in any registry."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from memsift_producer import Reranker, SyncReranker
from memsift_producer.metrics import Metrics
from memsift_schemas import Cause, InvalidInput
from memsift_schemas.hits import HITS
from memsift_schemas.metrics import catalogue
from memsift_schemas.metrics.instruments import Instruments
from memsift_schemas.settings import ProducerSettings
from tests.producer.frontends import Frontend, opened
from tests.samples import memories
from tests.schemas.metrics.test_serving import scrape

SECRET = "xyzzy-secret"
NOWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
def value(registry):
    return lambda name, **labels: registry.get_sample_value(f"memsift_{name}", labels) or 0


@pytest.fixture
async def reranker(valkey_url, queue, registry):
    settings = ProducerSettings(redis_url=valkey_url, queue=queue, deadline_ms=5_000)
    async with Reranker(settings, metrics=Metrics(registry)) as one:
        yield one


def ask(reranker, **more):
    told = {"query": f"Where is {SECRET}?", "memories": memories(4), "user": SECRET, "session": SECRET}
    return reranker.rerank(**{**told, **more})


async def test_the_models_answers(reranker, worker, value, registry):
    reranking = await ask(reranker)
    assert value("producer_calls_total", source="model", cause="none") == 1
    assert value("producer_call_seconds_count", source="model") == 1
    assert value("producer_call_seconds_sum", source="model") == pytest.approx(
        reranking.result.timings_ms["total"] / 1e3
    )
    assert value("producer_prefilter_seconds_count") == 1
    assert value("producer_in_flight_calls") == 0
    assert SECRET.encode() not in generate_latest(registry)


async def test_fallbacks_have_their_cause(reranker, worker, value):
    worker.answer = worker.refuse
    await asyncio.gather(*(ask(reranker) for _ in range(3)))
    assert value("producer_calls_total", source="prefilter", cause="runtime_garbage") == 3
    assert value("producer_fallbacks_total", cause="runtime_garbage") == 3
    assert value("producer_calls_total", source="model", cause="none") == 0


async def test_an_empty_store_is_no_fallback(reranker, value):
    await ask(reranker, memories=[])
    assert value("producer_calls_total", source="prefilter", cause="no_candidates") == 1
    assert value("producer_fallbacks_total", cause="no_candidates") == 0


async def test_who_goes_away_and_who_asks_what_cannot_be(reranker, worker, value):
    worker.answer = lambda job: None
    going = asyncio.create_task(ask(reranker))
    while not value("producer_in_flight_calls"):
        await asyncio.sleep(0.01)
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    with pytest.raises(InvalidInput):
        await ask(reranker, deadline=-1)
    assert value("producer_calls_total", source="none", cause="cancelled") == 1
    assert value("producer_calls_total", source="none", cause="invalid_input") == 1
    assert value("producer_in_flight_calls") == 0


async def test_the_queue_is_seen_also_without_a_worker(reranker, redis, queue, value, eventually):
    asking = asyncio.create_task(ask(reranker))
    await eventually(lambda: value("queue_jobs", queue=queue, list="queue") == 1)
    await eventually(lambda: value("queue_oldest_seconds", queue=queue, list="queue") > 0.2)
    assert value("workers", queue=queue) == 0
    assert value("breaker_open", queue=queue) == 0
    assert value("redis_up") == 1
    assert value("redis_round_trip_seconds_count") > 1
    asking.cancel()


async def test_without_redis_every_call_falls_back_and_shows(registry, value, eventually):
    settings = ProducerSettings(redis_url=NOWHERE, queue="q")
    async with Reranker(settings, metrics=Metrics(registry)) as one:
        await ask(one)
        await eventually(lambda: value("breaker_open", queue="q") == 1)
    assert value("producer_fallbacks_total", cause="redis_unavailable") == 1
    assert value("producer_breaker_opened_total", reason="redis") == 1
    assert registry.get_sample_value("memsift_redis_up") == 0


async def test_the_process_that_opens_the_breaker_counts_it(valkey_url, queue, clock, registry, value):
    settings = ProducerSettings(redis_url=valkey_url, queue=queue)
    first, second = Frontend(settings, clock), Frontend(settings, clock)
    first.watch._metrics = Metrics(registry)
    others = CollectorRegistry()
    second.watch._metrics = Metrics(others)
    for one in (first, second):
        await one.look()
    await opened([first, second])
    assert value("producer_breaker_opened_total", reason="failures") == 1
    name, labels = "memsift_producer_breaker_opened_total", {"reason": "failures"}
    assert others.get_sample_value(name, labels) == 0
    assert value("breaker_open", queue=queue) == 1
    assert others.get_sample_value("memsift_breaker_open", {"queue": queue}) == 1
    for one in (first, second):
        await one.close()


def test_series_that_alerts_divide_by_begin_with_zero(registry):
    Metrics(registry)
    for cause in set(Cause) - {Cause.CANCELLED, Cause.NO_CANDIDATES}:
        assert registry.get_sample_value("memsift_producer_fallbacks_total", {"cause": cause.value}) == 0


def test_threads_count_too_and_a_port_of_ones_own_serves(valkey_url, queue, registry):
    metrics = Metrics(registry)
    server = metrics.serve(0)
    settings = ProducerSettings(redis_url=valkey_url, queue=queue, deadline_ms=50)
    with SyncReranker(settings, metrics=metrics) as one:
        ask(one)
    found = scrape(server.port)
    server.close()
    labels = (("cause", "deadline"), ("source", "prefilter"))
    assert found["memsift_producer_calls_total", labels] == 1


def test_it_can_stand_in_the_frontends_own_registry_beside_its_metrics():
    from prometheus_client import REGISTRY

    metrics = Metrics()
    metrics.began()
    try:
        assert REGISTRY.get_sample_value("memsift_producer_in_flight_calls") == 1
        with pytest.raises(ValueError, match="Duplicated"):
            Instruments(catalogue.PRODUCER)
    finally:
        for made in set(metrics._instruments._made.values()):
            REGISTRY.unregister(made)


async def test_feedback_is_counted_by_who_answered_and_what_it_says(
    valkey_url, queue, registry, worker, value
):
    update = {"ranker": "local", "prompt_version": "likelihood-1"}
    worker.answer = lambda job: worker.reversed(job).model_copy(update=update)
    settings = ProducerSettings(redis_url=valkey_url, queue=queue, deadline_ms=5_000, feedback_ttl_s=60)
    async with Reranker(settings, metrics=Metrics(registry)) as reranker:
        for missed in ([], ["elsewhere"]):
            result = (await ask(reranker)).result
            await reranker.feedback(result.job_id, used=[result.selected[0]], missed=missed)
        result = (await ask(reranker)).result
        for _ in range(2):  # the second counts no more
            await reranker.feedback(result.job_id)
    whose = {"ranker": "local", "prompt": "likelihood-1"}
    told = {hit: value("producer_feedback_total", hit=hit, **whose) for hit in HITS}
    assert told == {"all": 1, "some": 1, "none": 0, "unused": 1}
    # What did not happen shows as 0, so that the first of it shows as an increase
    assert b'hit="none",prompt="likelihood-1",ranker="local"} 0.0' in generate_latest(registry)
