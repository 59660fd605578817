"""The fake SGLang, asked by the worker's own client."""

import asyncio
import json
import time

import httpx
import pytest

from memsift_ops import valkey
from memsift_ops.chaos import http, question, runtime, sentry
from memsift_schemas.redis_link import end
from memsift_workers.runtimes.base import Call, Labels, RuntimeFault, RuntimeTimeout, RuntimeUnavailable
from memsift_workers.runtimes.sglang import SGLangRuntime


async def listening(port):
    async with asyncio.timeout(5):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.01)
            else:
                writer.close()
                return


@pytest.fixture
async def served(tmp_path):
    """A started client of the fake server, how to tell the server what to do, and its record."""
    port, kept = valkey.free_port(), tmp_path / "spent"
    task = asyncio.create_task(http.serve(port, runtime.Server(kept, {"prompt_ms": 1.0}).answer))
    await listening(port)
    client = SGLangRuntime(f"http://127.0.0.1:{port}")
    await client.start()

    async def tell(**told):
        async with httpx.AsyncClient() as control:
            await control.post(f"http://127.0.0.1:{port}/control", json=told)

    yield client, tell, kept
    await client.close()
    await end([task])


def calls(count=3, deadline=0.0):
    asked = [
        question.ask(f"a0-{at}", secret="s", candidates=2, deadline_at=time.time() + deadline)
        for at in range(count)
    ]
    return [Call(("Memories: ",), one["query"], Labels(("A", "B"))) for one in asked]


async def test_scores_depend_on_the_prompt_alone(served):
    client, _, _ = served
    asked = calls()
    first = await client.run(asked, timeout=5)
    assert await client.run(asked[::-1], timeout=5) == first[::-1]
    assert len({answer.logprobs for answer in first}) == 3


async def test_model_time_in_vain_is_told_apart(served):
    client, _, kept = served
    await client.run(calls(2, deadline=60), timeout=5)
    await client.run(calls(3, deadline=-1), timeout=5)
    good, vain = [json.loads(line) for line in kept.read_text().splitlines()][-2:]
    assert (good["prompts"], good["dead_s"]) == (2, 0)
    assert vain["prompts"] == 3
    assert vain["dead_s"] == vain["late_start_s"] == vain["busy_s"] > 0


async def test_a_deadly_prompt_ends_the_process_before_it_costs_anything(tmp_path):
    class Died(Exception):
        pass

    def die():
        raise Died

    server = runtime.Server(tmp_path / "spent", {}, die)
    prompt = question.ask("a0-1", secret="s", candidates=2, mark=question.DEADLY)["query"]
    body = {"rid": "r", "input_ids": [[ord(char) for char in prompt]]}
    with pytest.raises(Died):
        await server.answer(http.Asked("POST", "/generate", b"", json.dumps(body).encode()))
    assert not (tmp_path / "spent").exists()


async def test_a_wrong_runtime_is_a_fault_for_the_worker(served):
    client, tell, _ = served
    await tell(mode="wrong")
    for _ in range(10):
        with pytest.raises(RuntimeFault):
            await client.run(calls(), timeout=5)


async def test_a_dead_one_is_unavailable_and_comes_back(served):
    client, tell, _ = served
    await tell(mode="dead")
    with pytest.raises(RuntimeUnavailable):
        await client.run(calls(), timeout=5)
    await tell(mode="ok")
    assert len(await client.run(calls(), timeout=5)) == 3


async def test_a_request_whose_client_goes_leaves_its_lane(served, eventually):
    client, tell, kept = served
    await tell(prompt_ms=60_000.0, lanes=1)
    before = len(kept.read_text().splitlines())
    with pytest.raises(RuntimeTimeout):
        await client.run(calls(2), timeout=0.1)
    await eventually(lambda: len(kept.read_text().splitlines()) > before)
    spent = json.loads(kept.read_text().splitlines()[-1])
    # The first was in the lane until then, the second never.
    assert spent["prompts"] == 1
    assert spent["busy_s"] < 30


async def test_the_fake_sentry_keeps_what_it_is_sent(tmp_path):
    import gzip

    port, kept = valkey.free_port(), tmp_path / "sent"
    task = asyncio.create_task(sentry.main(port, kept))
    await listening(port)
    async with httpx.AsyncClient() as client:
        url = f"http://127.0.0.1:{port}/api/1/envelope/"
        await client.post(url, content=gzip.compress(b"packed"), headers={"content-encoding": "gzip"})
        await client.post(url, content=b"plain")
    assert kept.read_bytes() == b"packed\nplain\n"
    assert sentry.dsn(port).endswith(f"@127.0.0.1:{port}/1")
    await end([task])
