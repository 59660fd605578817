"""A new worker, prompt or model beside the old one: no answer is lost, and results tell who gave them."""

import asyncio
import os
import signal

import pytest
from redis import Redis

from memsift_ops import services, valkey
from memsift_producer import Reranker
from memsift_schemas import Source
from memsift_schemas.keys import shadow_tally_key
from memsift_schemas.settings import WorkerSettings
from memsift_workers.assembly import build_strategy
from memsift_workers.shadow import tally
from memsift_workers.strategies.version import strategy_version
from tests.integration.servers import answers, until
from tests.samples import memories
from tests.workers.runtimes.fake_sglang import FakeSGLang

pytestmark = pytest.mark.stack

PROMPTS = {"old": {"strategy": "likelihood"}, "new": {"strategy": "pointwise", "chat_template": "llama3"}}


def version(**settings):
    return strategy_version(build_strategy(WorkerSettings(**settings)))


@pytest.fixture
def url(servers):
    port = valkey.free_port()
    child = servers.valkey(port)
    address = valkey.url(port)
    until(lambda: answers(address), child=child)
    return address


def begin(servers, name, url, queue, **settings):
    """A worker of its own name; not waited for."""
    told = {"runtime": "scripted", "scripted_ms": 5, "redis_url": url, "queue": queue, **settings}
    variables = {f"MEMSIFT_{key.upper()}": str(value) for key, value in told.items()}
    return servers.start(name, services.worker_command(name, "INFO"), **variables)


async def ready(url, queue, *children):
    """All of them are there."""
    await asyncio.to_thread(until, lambda: len(services.ready_workers(url, queue)) == len(children), 60)
    assert all(child.returncode is None for child in children)


class Calling:
    """Calls without a pause, from several sessions at once, until it is left; keeps every result."""

    def __init__(self, reranker):
        self.results, self._reranker, self._stop = [], reranker, False

    async def _session(self, at):
        turn = 0
        while not self._stop:
            turn += 1
            reranking = await self._reranker.rerank(
                query=f"Where is key {turn}?", memories=memories(5), user=f"u{at}", session=f"s{at}"
            )
            self.results.append(reranking.result)
            await asyncio.sleep(0.005)

    async def __aenter__(self):
        self._tasks = [asyncio.create_task(self._session(at)) for at in range(6)]
        return self

    async def __aexit__(self, *exc):
        self._stop = True
        await asyncio.gather(*self._tasks)

    async def since(self, count, enough=60):
        """Wait for so many more results; returns them."""
        async with asyncio.timeout(60):
            while len(self.results) < count + enough:
                await asyncio.sleep(0.01)
        return self.results[count:]


def check(results):
    """Every call was answered by the model."""
    causes = [result.cause for result in results if result.source is not Source.MODEL]
    assert causes == []


async def test_other_prompts_roll_in_under_calls_without_a_lost_answer(servers, url, queue):
    # Given an old worker under calls
    old = begin(servers, "old", url, queue, **PROMPTS["old"])
    await ready(url, queue, old)
    old_prompt, new_prompt = (version(**PROMPTS[name]) for name in ("old", "new"))
    async with (
        Reranker.from_url(url, queue=queue, deadline_ms=5_000) as reranker,
        Calling(reranker) as calling,
    ):
        before = await calling.since(0)
        assert {one.prompt_version for one in before} == {old_prompt}
        # When a new one comes beside it, then both answer, and results tell which
        new = begin(servers, "new", url, queue, **PROMPTS["new"])
        await ready(url, queue, old, new)
        mixed = await calling.since(len(calling.results), enough=300)
        assert {one.prompt_version for one in mixed} == {old_prompt, new_prompt}
        # When the old one is told to go, then it goes, and the new one answers all
        old.terminate()
        await asyncio.to_thread(until, lambda: old.returncode is not None, 30)
        after = await calling.since(len(calling.results))
        assert {one.prompt_version for one in after[-30:]} == {new_prompt}
    assert old.returncode == 0
    check(calling.results)
    assert {one.ranker for one in calling.results} == {"local"}


async def test_another_model_rolls_in_and_answers_are_never_mixed(servers, url, queue):
    # Given two servers with models of their own, each with a worker
    async with FakeSGLang() as first, FakeSGLang() as second:
        first.models = [{"id": "model-old", "parent": None}]
        second.models = [{"id": "model-new", "parent": None}]
        old = begin(servers, "old", url, queue, runtime="sglang", sglang_url=first.url)
        await ready(url, queue, old)
        settings = {"queue": queue, "deadline_ms": 5_000}
        async with Reranker.from_url(url, **settings) as reranker, Calling(reranker) as calling:
            before = await calling.since(0)
            assert {one.model for one in before} == {"model-old"}
            new = begin(servers, "new", url, queue, runtime="sglang", sglang_url=second.url)
            await ready(url, queue, old, new)
            await calling.since(len(calling.results), enough=200)
            old.terminate()
            await asyncio.to_thread(until, lambda: old.returncode is not None, 30)
            after = await calling.since(len(calling.results))
            # The same questions again: what the old model said of them is not what the new one says it said
            assert {one.model for one in after[-30:]} == {"model-new"}
            assert second.generated
        check(calling.results)
        assert {one.model for one in calling.results} == {"model-old", "model-new"}
        assert len({one.prompt_version for one in calling.results}) == 1


async def test_a_lost_answer_is_seen(servers, url, queue):
    # Given calls in flight at a worker that is killed, with nobody beside it
    only = begin(servers, "only", url, queue, scripted_ms=200)
    await ready(url, queue, only)
    settings = {"queue": queue, "deadline_ms": 1_000}
    async with Reranker.from_url(url, **settings) as reranker, Calling(reranker) as calling:
        await calling.since(0, enough=6)
        os.kill(only.pid, signal.SIGKILL)
        await calling.since(len(calling.results), enough=6)
    # Then the check of the other tests finds them
    with pytest.raises(AssertionError):
        check(calling.results)


async def test_a_fallback_names_no_prompt_and_no_model(url, queue):
    async with Reranker.from_url(url, queue=queue, deadline_ms=30) as reranker:
        result = (await reranker.rerank(query="key?", memories=memories(4))).result
    assert str(result.source) == "prefilter"
    assert (result.ranker, result.model, result.prompt_version) == ("", "", "")


async def test_a_real_shadow_compares_and_one_that_would_leave_the_network_does_not(servers, url, queue):
    # Given a worker whose shadow is at a public address, and one whose shadow is jev
    refused = {"shadow_ranker": "nox", "nox_url": "https://8.8.8.8/v1", "nox_model": "m"}
    one = begin(servers, "one", url, queue, shadow_share=1, **refused)
    await ready(url, queue, one)
    async with Reranker.from_url(url, queue=queue, deadline_ms=5_000) as reranker:
        results = [
            (await reranker.rerank(query=f"key {at}?", memories=memories(5))).result for at in range(5)
        ]
        check(results)
        two = begin(
            servers, "two", url, f"{queue}.next", ranker="jev", shadow_ranker="jev", shadow_queue=queue
        )
        with Redis.from_url(url) as redis:

            def read():
                return tally.read(redis.hgetall(shadow_tally_key(queue)))

            await asyncio.to_thread(until, lambda: read().failed.get(tally.MISCONFIGURED), 30, one)
            await asyncio.to_thread(until, lambda: read().pairs, 60, two)
            ((pair, found),) = read().pairs.items()
    assert (pair.live[0], pair.shadow[0]) == ("local", "jev")
    assert found.jobs <= 5
    assert any("MEMSIFT_ALLOW_EGRESS" in line for line in one.last_lines(200))
