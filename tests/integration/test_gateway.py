"""The gateway as a process before a real worker: clients that go away, many at once, an end in good order."""

import asyncio
import contextlib
import os
import signal
import subprocess

import httpx
import orjson
import pytest

from memsift_ops import services, valkey
from memsift_ops.stack import Stack
from tests.ops.processes import until
from tests.producer.gateway.server import raw_post

pytestmark = pytest.mark.stack

DOCUMENTS = ["The cabin has no heating.", "The spare key is under the blue pot.", "Jonas moved to Trieste."]
BODY = {"query": "Where is the spare key?", "documents": DOCUMENTS}


class World:
    """Valkey, a worker without a model, a gateway, and all that they print."""

    def __init__(self, queue):
        self.lines = []
        self.stack = Stack(queue, sink=lambda name, line: self.lines.append((name, line)))

    def start(self, **settings):
        with pytest.MonkeyPatch.context() as patch:
            told = {"runtime": "scripted", "batch_wait_ms": 0, "deadline_ms": 20_000, **settings}
            for name, value in {"gateway_max_deadline_ms": 20_000, **told}.items():
                patch.setenv(f"MEMSIFT_{name.upper()}", str(value))
            self.redis = self.stack.start_valkey()
            self.stack.start_worker()
            self.url = self.stack.start_gateway()
        return self

    @contextlib.contextmanager
    def another_gateway(self, *arguments, **variables):
        """One that is no part of the stack: the process, and its port."""
        port = valkey.free_port()
        told = {"MEMSIFT_REDIS_URL": self.redis, "MEMSIFT_QUEUE": self.stack.queue, **variables}
        command = [*services.gateway_command(port), *arguments]
        process = subprocess.Popen(command, env={**os.environ, **told}, stderr=subprocess.PIPE)
        try:
            assert until(lambda: services.answers_http(port, "/health"), 30)
            yield process, port
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def printed(self, name):
        return "\n".join(line for who, line in self.lines if who == name)


@pytest.fixture
def world(queue):
    made = World(queue)
    with made.stack:
        yield made


async def taken():
    """Time for a call to be read, and for its job to reach an idle worker; a few milliseconds do."""
    await asyncio.sleep(0.7)


async def test_a_client_that_goes_away_frees_the_worker_which_counts_it(world):
    # Given a worker with room for one batch, whose model takes four seconds, busy with a client's job
    world.start(scripted_ms=4_000, batches_in_flight=1, deadline_ms=7_000)
    _, writer = await raw_post(world.url, "/v2/rerank", orjson.dumps(BODY))
    await taken()
    # When that client closes its connection and another one calls
    writer.close()
    async with httpx.AsyncClient(base_url=world.url, timeout=60, trust_env=False) as client:
        answer = await client.post("/v2/rerank", json={**BODY, "query": "And where is Jonas?"})
    # Then the other one need not wait for the first, which would take both over the deadline
    assert answer.headers["x-memsift-source"] == "model", answer.headers
    # And the worker has counted the job as cancelled, the gateway as one whose client is gone
    assert until(lambda: " 499 " in world.printed("gateway"))
    world.stack.stop()
    assert "'cancelled': 1, 'ranked': 1" in world.printed("worker")


async def test_many_calls_at_once_are_all_answered(world):
    world.start(scripted_ms=5)
    bodies = [{**BODY, "query": f"Where is key number {at}?"} for at in range(300)]
    limits = httpx.Limits(max_connections=300)
    async with httpx.AsyncClient(base_url=world.url, limits=limits, timeout=60, trust_env=False) as client:
        answers = await asyncio.gather(*(client.post("/v2/rerank", json=body) for body in bodies))
    assert {answer.status_code for answer in answers} == {200}
    assert all(sorted(one["index"] for one in answer.json()["results"]) == [0, 1, 2] for answer in answers)
    assert len({answer.json()["id"] for answer in answers}) == 300
    assert "model" in {answer.headers["x-memsift-source"] for answer in answers}


async def test_its_end_lets_the_calls_in_flight_end(world):
    # Given a call that the worker takes two seconds for
    world.start(scripted_ms=2_000)
    with world.another_gateway(MEMSIFT_DEADLINE_MS="9000") as (gateway, port):
        reader, writer = await raw_post(f"http://127.0.0.1:{port}", "/v2/rerank", orjson.dumps(BODY))
        await taken()
        # When its gateway is told to end
        gateway.send_signal(signal.SIGTERM)
        # Then that call has the model's answer, and the exit code is 0
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
        writer.close()
        _, printed = await asyncio.to_thread(gateway.communicate, timeout=20)
    assert head.startswith(b"HTTP/1.1 200 ")
    assert b"x-memsift-source: model" in head
    assert gateway.returncode == 0, printed
    assert b"Traceback" not in printed


async def test_it_is_served_by_several_processes(world):
    world.start(scripted_ms=5)
    with world.another_gateway("--workers=2") as (gateway, port):
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.post(f"http://127.0.0.1:{port}/v2/rerank", json=BODY, timeout=30)
        await asyncio.sleep(1)
        gateway.send_signal(signal.SIGINT)
        _, printed = await asyncio.to_thread(gateway.communicate, timeout=30)
    assert answer.status_code == 200
    assert gateway.returncode == 0, printed
    assert printed.count(b"Application startup complete") == 2
