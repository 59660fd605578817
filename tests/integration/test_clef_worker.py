"""`clef` through Redis: a real worker, a real rerank server, every fault ending in a ranking in time."""

import asyncio

import pytest

from memsift_ops.errors import Failure
from memsift_producer import Reranker
from memsift_schemas import Cause, Source
from tests.samples import memories
from tests.workers.rankers.clef_server import _rerank_processes, rerank_server

__all__ = ["_rerank_processes", "rerank_server"]

pytestmark = pytest.mark.stack

QUERY = "Where is the spare key to the cabin?"
# Too short for a pause of 60 s or an answer that trickles for 15.
DEADLINE_MS = 1_000
LIMITED = {"kind": "status", "status": 429, "headers": {"retry-after": "60"}}
UNAVAILABLE = {Cause.RUNTIME_UNAVAILABLE}
GARBAGE = {Cause.RUNTIME_GARBAGE}
# The worker says so in time, but on a busy machine the producer may have given up a moment before.
TIMEOUT = {Cause.RUNTIME_TIMEOUT, Cause.DEADLINE}
FAULTS = (
    ({"kind": "status", "status": 500}, UNAVAILABLE),
    ({"kind": "status", "status": 422}, UNAVAILABLE),
    ({"kind": "drop"}, UNAVAILABLE),
    ({"kind": "html"}, GARBAGE),
    ({"kind": "twice"}, GARBAGE),
    ({"kind": "nan"}, GARBAGE),
    ({"kind": "short"}, GARBAGE),
    ({"kind": "hang"}, TIMEOUT),
    ({"kind": "trickle"}, TIMEOUT),
)


async def test_it_ranks_and_every_fault_ends_in_a_ranking_with_its_cause(rerank_server, start_worker):
    server = rerank_server("tei")
    running = start_worker(ranker="clef", clef_url=server.url, clef_max_documents=4)
    assert (running.info.ranker, running.info.model) == ("clef", "word-overlap")
    async with Reranker.from_url(running.url, queue=running.queue, deadline_ms=DEADLINE_MS) as reranker:

        async def ask(query=QUERY):
            return await reranker.rerank(query=query, memories=memories(8))

        # Without a fault the cross-encoder ranks
        good = await ask()
        assert (good.source, good.result.ranker, good.result.ranking[0].id) == (Source.MODEL, "clef", "m0")
        assert good.result.prompt_tokens > 0
        # With one each memory is still there, by the prefilter, and the cause is told
        for fault, causes in FAULTS:
            server.fault(**fault)
            bad = await ask()
            assert (bad.source, bad.cause in causes) == (Source.PREFILTER, True), fault
            assert len(bad.result.ranking) == 8
        # A pause that fits is waited for, one that does not is not
        server.fault("status", status=429, headers={"retry-after-ms": "30"}, times=1)
        assert (await ask()).source is Source.MODEL
        server.fault(**LIMITED)
        assert (await ask()).cause in UNAVAILABLE


async def test_calls_at_once_are_ranked_each_by_itself(rerank_server, start_worker):
    server = rerank_server("vllm")
    running = start_worker(ranker="clef", clef_url=server.url)
    async with Reranker.from_url(running.url, queue=running.queue, deadline_ms=5_000) as reranker:
        queries = {QUERY: "m0", "Who moved to Trieste?": "m3", "Who is allergic to hazelnuts?": "m2"}
        server.fault("html", only="poison")
        asked = [reranker.rerank(query=query, memories=memories(6)) for query in (*queries, "poison?") * 5]
        answers = await asyncio.gather(*asked)
    firsts = [one.result.ranking[0].id for one in answers if one.source is Source.MODEL]
    assert sorted(firsts) == sorted(list(queries.values()) * 5)
    assert [one.cause for one in answers if one.cause] == [Cause.RUNTIME_GARBAGE] * 5


def test_a_worker_does_not_start_on_a_server_that_ranks_wrongly(rerank_server, start_worker):
    server = rerank_server("vllm", "--ranks-wrongly")
    with pytest.raises(Failure) as caught:
        start_worker(ranker="clef", clef_url=server.url)
    assert "not the right text" in str(caught.value.log)
