"""One trace from a frontend through the worker to the runtime, with ids and durations in it and no text."""

import asyncio
import json

import pytest
import sentry_sdk

from memsift_producer.preparation import prepare
from memsift_producer.question import Question
from memsift_schemas import calibration, message, wire
from memsift_schemas.clock import SystemClock
from memsift_schemas.settings import ProducerSettings
from memsift_workers import tracing
from memsift_workers.runtimes.sglang_http import SGLangHttp
from tests.samples import NOW, job, memories

SECRET = "xyzzy-secret"


def traced(sampled="1", at=1, **fields):
    headers = {"sentry-trace": f"{at:032x}-{at:016x}-{sampled}", "baggage": f"sentry-trace_id={at:032x}"}
    return job(trace=headers, query=SECRET, user=SECRET, **fields)


def rank(*jobs):
    with tracing.ranking(jobs, queue="q", popped_at=NOW.timestamp() + 0.25, clock=SystemClock()):
        found = tracing.headers()
    sentry_sdk.flush(2)
    return found


def test_each_sampled_job_continues_its_own_trace(sentry):
    jobs = [traced(at=1), traced(at=2)]
    rank(*jobs)
    for at, (one, sent) in enumerate(zip(jobs, sentry.transactions, strict=True), start=1):
        trace = sent["contexts"]["trace"]
        assert (trace["trace_id"], trace["parent_span_id"]) == (f"{at:032x}", f"{at:016x}")
        assert (sent["transaction"], trace["op"]) == ("memsift.rerank", "queue.process")
        assert trace["data"]["messaging.message.id"] == one.id
        assert trace["data"]["messaging.message.receive.latency"] == pytest.approx(250)
    assert SECRET not in json.dumps(sentry.transactions)


@pytest.mark.parametrize("headers", [{}, {"sentry-trace": ""}, {"sentry-trace": "1" * 32 + "-" + "2" * 16},
                                     {"sentry-trace": "1" * 32 + "-" + "2" * 16 + "-0"}])  # fmt: skip
def test_what_the_frontend_does_not_sample_is_not_sent(sentry, headers):
    assert rank(job(trace=headers)) == {}
    assert sentry.transactions == []


def test_headers_that_are_nonsense_start_no_trace_of_somebody_else(sentry):
    rank(job(trace={"sentry-trace": f"{SECRET}-1", "baggage": SECRET}))
    assert SECRET not in json.dumps(sentry.transactions)


def test_the_runtime_is_told_the_first_sampled_trace_in_both_forms(sentry):
    found = rank(traced("0", at=1), traced(at=2), traced(at=3))
    (first, _) = sentry.transactions
    span = first["contexts"]["trace"]["span_id"]
    assert found == {
        "sentry-trace": f"{2:032x}-{span}-1",
        "traceparent": f"00-{2:032x}-{span}-01",
    }


def test_without_sentry_nothing_happens():
    assert rank(traced()) == {}


def test_an_error_ends_the_transactions_too(sentry):
    def failing():
        with tracing.ranking([traced()], queue="q", popped_at=NOW.timestamp(), clock=SystemClock()):
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        failing()
    sentry_sdk.flush(2)
    assert len(sentry.transactions) == 1
    assert tracing.headers() == {}


async def test_batches_at_the_same_time_keep_their_traces_apart(sentry):
    async def one(at):
        with tracing.ranking([traced(at=at)], queue="q", popped_at=NOW.timestamp(), clock=SystemClock()):
            await asyncio.sleep(0.001 * (at % 3))
            return tracing.headers()["traceparent"].split("-")[1]

    tasks = [asyncio.create_task(one(at)) for at in range(1, 9)]
    assert await asyncio.gather(*tasks) == [f"{at:032x}" for at in range(1, 9)]


async def test_a_frontends_trace_reaches_worker_and_runtime(sentry):
    """Given a frontend inside a transaction, when its job is ranked over HTTP, then all is one trace."""
    seen = []

    async def serve(reader, writer):
        seen.append((await reader.readuntil(b"\r\n\r\n")).decode().lower())
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    http = SGLangHttp(
        f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", api_key=None, connect_timeout=2
    )
    with sentry_sdk.start_transaction(name="chat", sampled=True) as chat:
        question = Question(query="Where is the key?", memories=memories(3))
        prepared = prepare(
            question,
            settings=ProducerSettings(),
            reply_to="memsift.rerank:reply:a",
            clock=SystemClock(),
            calibration=calibration.load(""),
        )
    received = wire.load_job(message.read(prepared.message).job)
    with tracing.ranking([received], queue="q", popped_at=NOW.timestamp(), clock=SystemClock()):
        await http.get("/health")
    await http.close()
    server.close()
    sentry_sdk.flush(2)
    worker = next(sent for sent in sentry.transactions if sent["transaction"] == "memsift.rerank")
    assert worker["contexts"]["trace"]["trace_id"] == chat.trace_id
    assert worker["contexts"]["trace"]["parent_span_id"] == chat.span_id
    assert f"traceparent: 00-{chat.trace_id}-{worker['contexts']['trace']['span_id']}-01" in seen[0]
    assert "baggage" not in seen[0]
