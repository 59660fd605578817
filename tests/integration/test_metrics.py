"""Metrics of whole processes: several workers and gateways on one machine, counts that agree to the call."""

import asyncio
import os
import signal

import httpx
import pytest

from memsift_ops import services, valkey
from memsift_producer import Reranker
from memsift_schemas.metrics.instruments import SHARED_DIRECTORY
from tests.integration.servers import PATIENCE_S, answers, until
from tests.producer.gateway.conftest import DOCUMENTS, QUERY
from tests.samples import memories
from tests.schemas.metrics.test_serving import scrape, scraped

pytestmark = pytest.mark.stack

SECRET = "xyzzy-secret"


@pytest.fixture
def url(servers):
    port = valkey.free_port()
    child = servers.valkey(port, mode=("--save", ""))
    until(lambda: answers(f"redis://127.0.0.1:{port}/0"), child=child)
    return f"redis://127.0.0.1:{port}/0"


def total(found, name, **labels):
    """The sum over all series that have these labels."""
    wanted = set(labels.items())
    return sum(value for (named, has), value in found.items() if named == name and wanted <= set(has))


async def ask(url, queue, calls):
    told = {"query": f"Where is {SECRET}?", "user": SECRET, "session": SECRET}
    async with Reranker.from_url(url, queue=queue, deadline_ms=10_000) as reranker:
        found = await asyncio.gather(*(reranker.rerank(memories=memories(4), **told) for _ in range(calls)))
    return [str(one.source) for one in found]


async def test_workers_that_share_a_directory_answer_as_one(servers, url, queue, tmp_path, monkeypatch):
    """Given two workers on one port, when one is killed, then the other shows what both have counted."""
    directory, port = tmp_path / "metrics", valkey.free_port()
    directory.mkdir()
    monkeypatch.setenv(SHARED_DIRECTORY, str(directory))
    some = [
        servers.start(
            name,
            services.worker_command(name, "INFO"),
            MEMSIFT_RUNTIME="scripted",
            MEMSIFT_REDIS_URL=url,
            MEMSIFT_QUEUE=queue,
            MEMSIFT_METRICS_PORT=str(port),
        )
        for name in ("first", "second")
    ]
    until(lambda: len(services.ready_workers(url, queue)) == 2, PATIENCE_S, some[0])
    assert set(await ask(url, queue, 60)) == {"model"}
    found = await counted(port, 60)
    assert total(found, "memsift_worker_slack_seconds_count") == 60
    assert total(found, "memsift_worker_limit_jobs") == 48
    os.killpg(some[0].pid, signal.SIGKILL)
    some[0].wait(hurry=lambda: True)
    until(lambda: total(scrape(port), "memsift_worker_limit_jobs") == 24)
    assert set(await ask(url, queue, 20)) == {"model"}
    found = await counted(port, 80)
    assert not any(SECRET in str(key) for key in found)


async def counted(port, jobs):
    """Once so many jobs are: a caller has its answer a moment before the worker has counted it."""

    async def look():
        while total(found := await asyncio.to_thread(scrape, port), "memsift_worker_jobs_total") < jobs:
            await asyncio.sleep(0.05)
        return found

    found = await asyncio.wait_for(look(), 10)
    assert total(found, "memsift_worker_jobs_total", outcome="ranked") == jobs
    return found


async def test_a_gateway_of_several_processes_counts_in_one_place(servers, url, queue, tmp_path):
    """Given two processes behind one port, then whoever is scraped tells of the calls of both."""
    servers.worker(url, queue)
    port, metrics = valkey.free_port(), valkey.free_port()
    gateway = servers.start(
        "gateway",
        [*services.gateway_command(port), "--workers=2"],
        MEMSIFT_REDIS_URL=url,
        MEMSIFT_QUEUE=queue,
        MEMSIFT_DEADLINE_MS="10000",
        MEMSIFT_GATEWAY_METRICS_PORT=str(metrics),
        TMPDIR=str(tmp_path),
    )
    until(lambda: services.answers_http(port, "/health"), child=gateway)
    calls = 40
    for _ in range(calls):  # each on a connection of its own, so that both processes have some
        async with httpx.AsyncClient() as client:
            told = {"query": QUERY, "documents": DOCUMENTS}
            answer = await client.post(f"http://127.0.0.1:{port}/v1/rerank", json=told, timeout=30)
            assert answer.headers["x-memsift-source"] == "model"
    for _ in range(6):
        found = await asyncio.to_thread(scrape, metrics)
        assert total(found, "memsift_producer_calls_total", source="model") == calls
        assert total(found, "memsift_gateway_requests_total", status="200") == calls
        assert total(found, "memsift_producer_in_flight_calls") == 0
    assert list(tmp_path.glob("memsift-metrics-*")) != []
    gateway.terminate()
    gateway.wait(hurry=lambda: False)
    assert list(tmp_path.glob("memsift-metrics-*")) == []


async def test_two_workers_with_one_port_and_no_directory_answer_their_jobs_all_the_same(servers, url, queue):
    port = valkey.free_port()
    first = servers.worker(url, queue, metrics_port=port)
    second = servers.begin_worker(url, queue, metrics_port=port)
    until(lambda: any("no metrics yet" in line for line in second.last_lines(40)), child=second)
    assert set(await ask(url, queue, 10)) == {"model"}
    first.terminate()
    first.wait(hurry=lambda: False)
    until(lambda: scraped(port), child=second)
