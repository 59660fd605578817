"""A worker process sends its spans over OTLP, in the trace that a frontend has begun."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from memsift_ops.stack import Stack
from memsift_producer import Reranker
from memsift_schemas import Source
from tests.integration.conftest import start
from tests.samples import memories
from tests.spans_recorder import recorded

pytestmark = pytest.mark.stack

SECRET = "xyzzy-secret"


class Collector:
    """An OpenTelemetry collector that keeps what it is sent."""

    def __init__(self):
        self.bodies = bodies = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                bodies.append(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/traces"

    def spans(self):
        """All spans, by name, each with the service that sent it."""
        found = {}
        for body in self.bodies:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                (service,) = (
                    one.value.string_value
                    for one in resource.resource.attributes
                    if one.key == "service.name"
                )
                for scope in resource.scope_spans:
                    found |= {span.name: (service, span) for span in scope.spans}
        return found

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector():
    one = Collector()
    yield one
    one.close()


async def test_one_trace_through_a_worker_process(queue, collector, monkeypatch):
    """Given a sampled call, when its worker ends, then what it still held of the trace has been delivered."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", collector.url)
    # Later than the test takes: only the delivery at the end brings it.
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "60000")
    with Stack(queue) as stack, recorded(monkeypatch) as recorder:
        url = start(stack, queue).url
        async with Reranker.from_url(url, queue=queue, deadline_ms=5_000) as reranker:
            told = {"query": f"Where is {SECRET}?", "user": SECRET, "session": SECRET}
            reranking = await reranker.rerank(memories=memories(4), **told)
        assert reranking.source is Source.MODEL
        assert collector.bodies == []
    call = recorder.one("memsift.rerank")
    sent = collector.spans()
    assert {service for service, _ in sent.values()} == {"memsift-worker"}
    queued, batch, runtime = (sent[f"memsift.{name}"][1] for name in ("queue", "batch", "runtime"))
    for span in (queued, batch, runtime):
        assert span.trace_id.hex() == f"{call.context.trace_id:032x}"
    assert {queued.parent_span_id.hex(), batch.parent_span_id.hex()} == {f"{call.context.span_id:016x}"}
    assert runtime.parent_span_id == batch.span_id
    assert not any(SECRET.encode() in body for body in collector.bodies)


async def test_a_collector_that_is_away_costs_no_answer_and_no_time_at_the_end(queue, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:1/v1/traces")
    with Stack(queue) as stack, recorded(monkeypatch):
        running = start(stack, queue)
        async with Reranker.from_url(running.url, queue=queue, deadline_ms=5_000) as reranker:
            assert (await reranker.rerank(query="Where?", memories=memories(4))).source is Source.MODEL
        (worker,) = (child for child in stack._children if child.name == "worker")
        worker.terminate()
        worker.wait(hurry=lambda: False)
        assert worker.returncode == 0
