"""One OpenTelemetry trace from a frontend's call through queue and batch to the runtime, without any text."""

import asyncio
import sys
import time

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from memsift_producer import Reranker
from memsift_producer.preparation import prepare
from memsift_producer.question import Question
from memsift_schemas import SystemClock, calibration, message, otel, wire
from memsift_schemas.settings import ProducerSettings, WorkerSettings
from memsift_workers import spans, tracing
from memsift_workers.assembly import build_rankers
from memsift_workers.drain.batch import BatchHandler
from memsift_workers.drain.popped import Popped
from memsift_workers.runtimes.traced import Traced
from tests.fakes import FakeRuntime
from tests.samples import NOW, job, memories
from tests.spans_recorder import recorded

SECRET = "xyzzy-secret"


@pytest.fixture
def recorder(monkeypatch):
    with recorded(monkeypatch) as one:
        yield one


def traced(at, flags="01", **fields):
    parent = f"00-{at:032x}-{at:016x}-{flags}"
    return job(trace={"traceparent": parent}, query=SECRET, user=SECRET, **fields)


def ranking(jobs, clock, popped_at=None):
    at = clock.time() if popped_at is None else popped_at
    return tracing.ranking(jobs, queue="q", popped_at=at, clock=clock)


def ids(span):
    return span.context.trace_id, span.parent.span_id


def test_each_sampled_job_has_its_spans_in_its_own_trace(recorder, clock):
    clock.now = NOW.timestamp() + 0.25
    jobs = [traced(1), traced(2), traced(3, flags="00"), job(query=SECRET)]
    with ranking(jobs, clock):
        clock.advance(0.1)
    for name in (spans.QUEUE, spans.BATCH):
        assert sorted(map(ids, recorder.named(name))) == [(1, 1), (2, 2)]
    batch = next(span for span in recorder.named(spans.BATCH) if span.context.trace_id == 1)
    assert batch.attributes == {
        "messaging.message.id": jobs[0].id,
        "messaging.destination.name": "q",
        "messaging.batch.message_count": 4,
        "memsift.candidates": 6,
    }
    assert SECRET not in recorder.told()


def test_times_are_this_machines_whatever_the_deadline_clock_says(recorder, clock):
    """Given a server's clock that is years off, then the spans still end now and last as long as they did."""
    clock.now = NOW.timestamp() + 3.0
    before = time.time_ns()
    with ranking([traced(1)], clock, popped_at=NOW.timestamp() + 2.0):
        pass
    queue, batch = recorder.one(spans.QUEUE), recorder.one(spans.BATCH)
    assert queue.end_time - queue.start_time == pytest.approx(2e9, rel=1e-3)
    assert queue.end_time == batch.start_time
    assert before - batch.start_time == pytest.approx(1e9, abs=5e8)


async def test_the_runtime_is_in_the_first_trace_and_linked_to_the_others(recorder, clock):
    seen = []

    def look(call):
        seen.append(tracing.headers()["traceparent"])
        return FakeRuntime.by_words(call)

    runtime = Traced(FakeRuntime(look))
    clock.now = NOW.timestamp()
    with ranking([traced(3, flags="00"), traced(1), traced(2)], clock):
        await runtime.run([_call()], timeout=1)
    span = recorder.one(spans.RUNTIME)
    first = next(one for one in recorder.named(spans.BATCH) if one.context.trace_id == 1)
    other = next(one for one in recorder.named(spans.BATCH) if one.context.trace_id == 2)
    assert ids(span) == (1, first.context.span_id)
    assert [link.context.span_id for link in span.links] == [other.context.span_id]
    assert dict(span.attributes) == {"memsift.runtime": "fake", "memsift.prompts": 1}
    assert seen == [f"00-{1:032x}-{span.context.span_id:016x}-01"]


def _call():
    from memsift_workers.runtimes.base import Call, Likelihood

    return Call(("a",), "b", Likelihood())


async def test_batches_at_the_same_time_keep_their_traces_apart(recorder, clock):
    clock.now = NOW.timestamp()

    async def one(at):
        with ranking([traced(at), traced(at + 100)], clock):
            await asyncio.sleep(0.001 * (at % 3))
            with spans.runtime("r", 1):
                return tracing.headers()["traceparent"].split("-")[1]

    tasks = [asyncio.create_task(one(at)) for at in range(1, 9)]
    assert await asyncio.gather(*tasks) == [f"{at:032x}" for at in range(1, 9)]
    assert all(
        link.context.trace_id == span.context.trace_id + 100
        for span in recorder.named(spans.RUNTIME)
        for link in span.links
    )


def test_an_error_ends_the_spans_and_its_words_are_not_recorded(recorder, clock):
    with pytest.raises(ValueError, match=SECRET), ranking([traced(1)], clock), spans.runtime("r", 1):
        raise ValueError(SECRET)
    assert {span.name for name in (spans.BATCH, spans.RUNTIME) for span in recorder.named(name)} == {
        spans.BATCH,
        spans.RUNTIME,
    }
    assert SECRET not in recorder.told()


@pytest.mark.parametrize(
    "headers", [{}, {"traceparent": ""}, {"traceparent": SECRET}, {"traceparent": "00-" + "0" * 32 + "-1-01"}]
)
def test_what_is_not_sampled_or_is_nonsense_makes_no_span(recorder, clock, headers):
    with ranking([job(trace=headers)], clock), spans.runtime("r", 1):
        assert tracing.headers() == {}
    assert len(recorder) == 0


def test_without_the_sdk_nothing_happens(clock, monkeypatch):
    with ranking([traced(1)], clock), spans.runtime("r", 1):
        assert tracing.headers() == {}
    assert (otel.tracer(), otel.headers()) == (None, {})
    monkeypatch.setattr(otel, "trace", None)
    with ranking([traced(1)], clock), spans.runtime("r", 1):
        assert tracing.headers() == {}


def prepared(question):
    return prepare(
        question,
        settings=ProducerSettings(),
        reply_to="memsift.rerank:reply:a",
        clock=SystemClock(),
        calibration=calibration.load(""),
    )


def test_a_job_carries_its_trace_beside_sentrys(recorder, sentry):
    import sentry_sdk

    with (
        sentry_sdk.start_transaction(name="chat", sampled=True) as chat,
        trace.get_tracer("chat").start_as_current_span("chat") as span,
    ):
        raw = prepared(Question(query="Where is the key?", memories=memories(3))).message
    carried = wire.load_job(message.read(raw).job).trace
    assert carried["traceparent"].split("-")[1] == f"{span.get_span_context().trace_id:032x}"
    assert carried["sentry-trace"].split("-")[0] == chat.trace_id


async def test_one_trace_from_the_frontend_through_a_worker(recorder, valkey_url, redis, queue):
    """Given a frontend inside a span of its own, when a batch handler ranks its job, all is one trace."""
    settings = WorkerSettings(redis_url=valkey_url, queue=queue, runtime="scripted", scripted_ms=5)
    rankers = {ranker.name: ranker for ranker in build_rankers(settings)}
    for ranker in rankers.values():
        await ranker.start()
    clock = SystemClock()
    handler = BatchHandler(redis=redis, settings=settings, rankers=rankers, clock=clock, events=_Silent())
    told = {"query": f"Where is {SECRET}?", "memories": memories(4), "user": SECRET, "session": SECRET}
    with trace.get_tracer("chat").start_as_current_span("chat"):
        async with Reranker.from_url(valkey_url, queue=queue, deadline_ms=5_000) as reranker:
            asking = asyncio.create_task(reranker.rerank(**told))
            _, item = await redis.brpop([queue])
            await handler.handle(Popped([item], clock.time()))
            reranking = await asking
    chat = recorder.one("chat")
    call, waited, batch, runtime = map(
        recorder.one, ("memsift.rerank", spans.QUEUE, spans.BATCH, spans.RUNTIME)
    )
    assert {span.context.trace_id for span in (call, waited, batch, runtime)} == {chat.context.trace_id}
    parents = [span.parent.span_id for span in (call, waited, batch, runtime)]
    assert parents == [one.context.span_id for one in (chat, call, call, batch)]
    assert call.attributes["memsift.source"] == "model"
    assert (
        call.attributes["memsift.job"] == reranking.result.job_id == batch.attributes["messaging.message.id"]
    )
    assert call.start_time <= waited.start_time <= batch.start_time <= runtime.start_time
    assert runtime.end_time <= batch.end_time <= call.end_time
    assert SECRET not in recorder.told()
    for ranker in rankers.values():
        await ranker.close()


async def test_a_call_that_is_cancelled_ends_its_span(recorder, valkey_url, queue):
    async with Reranker.from_url(valkey_url, queue=queue, deadline_ms=5_000) as reranker:
        asking = asyncio.create_task(reranker.rerank(query=SECRET, memories=memories(2)))
        await asyncio.sleep(0.05)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert recorder.one("memsift.rerank").attributes == {"error.type": "CancelledError"}


async def test_what_the_frontend_does_not_sample_is_sampled_nowhere(monkeypatch, valkey_url, redis, queue):
    with recorded(monkeypatch, sampler=ALWAYS_OFF):
        async with Reranker.from_url(valkey_url, queue=queue, deadline_ms=300) as reranker:
            asking = asyncio.create_task(reranker.rerank(query="Where?", memories=memories(2)))
            _, item = await redis.brpop([queue])
            await asking
    sent = wire.load_job(message.read(item).job)
    assert not int(sent.trace["traceparent"].split("-")[3], 16) & 1
    with recorded(monkeypatch) as spans_of_worker, ranking([sent], SystemClock()):
        pass
    assert len(spans_of_worker) == 0


def test_the_export_needs_a_variable_and_names_the_extra(monkeypatch, caplog):
    for name in otel.ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    otel.export("memsift-worker")()
    assert otel.tracer() is None
    monkeypatch.setenv(otel.ENDPOINTS[0], "http://127.0.0.1:1/v1/traces")
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    otel.export("memsift-worker")()
    assert "pip install 'memsift[traces]'" in caplog.text
    assert otel.tracer() is None


class _Silent:
    def send(self, kind, **fields):
        pass
