"""Valkey, a worker, a gateway and a real Prometheus: every query of the dashboard has data, alerts fire."""

import asyncio
import contextlib
import math
import time

import httpx
import pytest
from redis import Redis

from memsift_ops import valkey
from memsift_ops.stack import Stack
from memsift_producer import Reranker
from tests.integration.conftest import start
from tests.ops.monitoring.files import QUERIES, filled
from tests.samples import TEXTS, memories

pytestmark = [pytest.mark.monitoring, pytest.mark.timeout(240)]

# Rates over as many scrapes as a busy machine needs for two.
WINDOW = "20s"


class Deployment:
    """What an operator runs, and its calls."""

    def __init__(self, stack, queue):
        self.stack, self.queue = stack, queue
        self.worker_port, self.gateway_port = valkey.free_port(), valkey.free_port()
        self.redis_url = start(stack, queue, metrics_port=self.worker_port).url
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MEMSIFT_FEEDBACK_TTL_S", "60")
            self.url = stack.start_gateway(metrics_port=self.gateway_port)
        self.calls = self.feedback = 0

    def call(self, deadline_ms=5_000, status=200):
        """One call over HTTP; says who answered."""
        answer = httpx.post(
            f"{self.url}/v1/rerank",
            json={"query": "Where is the spare key?", "documents": list(TEXTS)},
            headers={"x-memsift-deadline-ms": str(deadline_ms)},
            timeout=30,
        )
        assert answer.status_code == status
        self.calls += 1
        return answer.headers["x-memsift-source"]

    def tell_what_was_used(self):
        """A call in our own form, and the feedback on it."""
        candidates = [{"id": str(at), "text": text, "created_at": None} for at, text in enumerate(TEXTS)]
        asked = {"query": "Where is the spare key?", "candidates": candidates, "deadline_ms": 5_000}
        ranked = httpx.post(f"{self.url}/v1/memories/rerank", json=asked, timeout=30).json()
        self.calls += 1
        told = {"job_id": ranked["job_id"], "used": ranked["selected"][:1]}
        answer = httpx.post(f"{self.url}/v1/memories/feedback", json=told, timeout=30)
        self.feedback += answer.json()["outcome"] == "counted"

    def odd_ends(self):
        """What plain calls do not have: feedback, junk in the queue, and a conversation that is warmed."""
        self.tell_what_was_used()
        with Redis.from_url(self.redis_url) as redis:
            redis.lpush(self.queue, "nonsense")

        async def warm():
            async with Reranker.from_url(self.redis_url, queue=self.queue) as reranker:
                return await reranker.warm(user="u", session="s", memories=memories(4))

        return asyncio.run(warm())

    def worker(self):
        (child,) = (child for child in self.stack._children if child.name == "worker")
        return child


@pytest.fixture
def deployment(queue):
    with Stack(queue) as stack:
        yield Deployment(stack, queue)


def keep_calling(deployment, prometheus, condition, seconds=60):
    """Call until something is so."""
    give_up_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up_at, "not in time"
        with contextlib.suppress(httpx.TransportError):
            deployment.call()


def test_from_calls_to_the_dashboard_and_to_alerts(deployment, prometheus):
    """Given a healthy deployment, then all shows and nothing fires; when its worker dies, alerts do."""
    server = prometheus(workers=deployment.worker_port, gateways=deployment.gateway_port)
    both = {"memsift-worker": "up", "memsift-gateway": "up"}
    server.until(lambda: server.targets() == both)

    # The dashboard.
    assert deployment.call() == "model"
    empty = list(QUERIES)

    def still_empty():
        deployment.odd_ends()
        empty[:] = [(title, expr) for title, expr in empty if not has_data(server, expr)]
        return not empty

    with contextlib.suppress(AssertionError):
        keep_calling(deployment, server, still_empty)
    assert empty == []
    assert server.value("memsift_workers") == [1.0, 1.0]

    # What Prometheus counted is what was called, to the call.
    server.until(lambda: sum(server.value("memsift_producer_calls_total")) == deployment.calls)
    answered = 'memsift_gateway_requests_total{status="200", dialect!="feedback"}'
    server.until(lambda: sum(server.value(answered)) == deployment.calls)
    server.until(lambda: sum(server.value("memsift_producer_feedback_total")) == deployment.feedback)
    assert deployment.feedback > 0
    ranked = 'memsift_producer_calls_total{source="model"}'
    jobs = 'memsift_worker_jobs_total{outcome="ranked"}'
    server.until(lambda: sum(server.value(ranked)) == sum(server.value(jobs)))

    # Quiet, until there is a reason.
    server.until(lambda: not server.alerts("pending"))
    assert server.alerts() == set()
    deployment.worker().terminate()
    deployment.worker().wait(hurry=lambda: False)
    server.until(lambda: server.alerts() >= {"MemsiftWorkerMissing", "MemsiftNoWorkers"})
    for _ in range(12):
        assert deployment.call(deadline_ms=100) == "prefilter"
    server.until(lambda: "MemsiftBreakerOpen" in server.alerts())

    # And quiet again.
    start_again(deployment)
    keep_calling(deployment, server, lambda: not server.alerts())


def start_again(deployment):
    """A worker on the same port, which Stack does not watch as the first one's successor."""
    deployment.stack._children.remove(deployment.worker())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMSIFT_RUNTIME", "scripted")
        patch.setenv("MEMSIFT_SCRIPTED_MS", "15")
        deployment.stack.start_worker(metrics_port=deployment.worker_port)


def has_data(server, expr):
    values = server.value(filled(expr, WINDOW))
    return bool(values) and all(math.isfinite(value) for value in values)
