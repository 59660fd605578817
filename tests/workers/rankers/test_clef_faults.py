"""Whatever the server does, each job has an outcome in time, and none pays for another."""

import asyncio
import traceback

import pytest

from memsift_schemas import Cause
from memsift_workers.rankers.base import RankFault, Scores
from tests.samples import job, memories
from tests.workers.rankers.clef_server import RerankProcess, _rerank_processes, clef, rerank_server
from tests.workers.rankers.rerank_dialects import DIALECTS
from tests.workers.rankers.rerank_server import SPOILERS

__all__ = ["_rerank_processes", "clef", "rerank_server"]

POISON = "poison-xyzzy"
# Both are wrong rankings of the right form, which no check of one answer can tell.
WELL_FORMED = {"reversed", "constant"}
GARBAGE = sorted({*SPOILERS, "html", "no_rows"} - WELL_FORMED)


async def both(ranker, timeout):
    """Outcomes of a job that the fault meets and of one beside it, which is ranked."""
    bad, good = await ranker.rank([job(query=f"Where is the {POISON}?"), job()], timeout=timeout)
    assert isinstance(good, Scores)
    if isinstance(bad, RankFault):
        assert POISON not in "".join(traceback.format_exception(bad))
    return bad


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_garbage_is_a_fault_of_that_job_alone(rerank_server, clef, caplog, dialect):
    server = rerank_server(dialect)
    ranker = await clef(server)
    for kind in GARBAGE:
        server.fault(kind, only=POISON)
        bad = await both(ranker, timeout=10)
        assert isinstance(bad, RankFault), kind
        assert bad.cause is Cause.RUNTIME_GARBAGE, kind
    # And the next is ranked again
    server.fault()
    assert isinstance(await both(ranker, timeout=10), Scores)
    assert POISON not in caplog.text


@pytest.mark.parametrize("kind", ["hang", "trickle"])
async def test_a_silent_or_trickling_server_is_a_timeout_in_time(rerank_server, clef, kind):
    server = rerank_server("vllm")
    ranker = await clef(server)
    server.fault(kind, only=POISON)
    async with asyncio.timeout(5):  # a whole answer trickles for 15 s
        bad = await both(ranker, timeout=0.3)
    assert bad.cause is Cause.RUNTIME_TIMEOUT


async def test_an_endless_answer_is_garbage(rerank_server, clef):
    server = rerank_server("tei")
    ranker = await clef(server)
    server.fault("endless", only=POISON)
    assert (await both(ranker, timeout=3)).cause is Cause.RUNTIME_GARBAGE


async def test_429_is_tried_again_as_long_as_there_is_time(rerank_server, clef):
    server = rerank_server("infinity")
    ranker = await clef(server)
    server.fault("status", status=429, times=3, only=POISON)
    assert isinstance(await both(ranker, timeout=10), Scores)
    assert len(server.bodies()) == 5


@pytest.mark.parametrize("headers", [{"retry-after-ms": "120"}, {"retry-after": "0.12"}])
async def test_429_is_not_tried_again_before_the_server_says(rerank_server, clef, headers):
    # The pause is the server's: with a budget below it there is no second try
    server = rerank_server("infinity")
    ranker = await clef(server)
    server.fault("status", status=429, headers=headers, times=1, only=POISON)
    assert (await both(ranker, timeout=0.13)).cause is Cause.RUNTIME_UNAVAILABLE
    assert len(server.bodies()) == 2
    # And with a larger one there is
    server.fault("status", status=429, headers=headers, times=1, only=POISON)
    assert isinstance(await both(ranker, timeout=10), Scores)


async def test_a_pause_beyond_the_deadline_is_not_waited_for(rerank_server, clef):
    server = rerank_server("tei")
    ranker = await clef(server)
    server.fault("status", status=429, headers={"retry-after": "60"}, only=POISON)
    async with asyncio.timeout(20):
        assert (await both(ranker, timeout=30)).cause is Cause.RUNTIME_UNAVAILABLE
    assert len(server.bodies()) == 2


@pytest.mark.parametrize("fault", [{"kind": "status", "status": 500}, {"kind": "drop"}])
async def test_a_fault_of_the_server_is_tried_again_once(rerank_server, clef, fault):
    server = rerank_server("sglang")
    ranker = await clef(server)
    server.fault(**fault, only=POISON, times=1)
    assert isinstance(await both(ranker, timeout=10), Scores)
    server.fault(**fault, only=POISON)
    assert (await both(ranker, timeout=10)).cause is Cause.RUNTIME_UNAVAILABLE
    assert len(server.bodies()) == 3


async def test_without_time_left_there_is_no_second_try(rerank_server, clef):
    server = rerank_server("sglang")
    ranker = await clef(server)
    server.fault("status", status=503, headers={"retry-after": "5"}, only=POISON)
    assert (await both(ranker, timeout=2)).cause is Cause.RUNTIME_UNAVAILABLE
    assert len(server.bodies()) == 2


@pytest.mark.parametrize("status", [400, 401, 404, 413, 422, 307])
async def test_a_refusal_is_not_tried_again(rerank_server, clef, status):
    server = rerank_server("tei")
    ranker = await clef(server)
    server.fault("status", status=status, only=POISON)
    assert (await both(ranker, timeout=10)).cause is Cause.RUNTIME_UNAVAILABLE
    assert len(server.bodies()) == 2


async def test_a_part_that_fails_fails_its_job(rerank_server, clef):
    server = rerank_server("tei")
    ranker = await clef(server, clef_max_documents=2)
    server.fault("html", times=1)
    (outcome,) = await ranker.rank([job(6)], timeout=10)
    assert outcome.cause is Cause.RUNTIME_GARBAGE


async def test_jobs_that_wait_for_a_free_slot_end_in_time_too(rerank_server, clef):
    server = rerank_server("vllm")
    ranker = await clef(server, clef_concurrency=1)
    server.fault("hang", times=1)
    async with asyncio.timeout(5):
        outcomes = await ranker.rank([job(), job(), job()], timeout=0.3)
    assert [outcome.cause for outcome in outcomes] == [Cause.RUNTIME_TIMEOUT] * 3
    # And the slot is free again
    outcomes = await ranker.rank([job()], timeout=10)
    assert isinstance(outcomes[0], Scores)


async def test_a_server_that_has_gone_is_unavailable(clef):
    server = RerankProcess("vllm")
    try:
        ranker = await clef(server)
    finally:
        server.stop()
    (outcome,) = await ranker.rank([job()], timeout=5)
    assert outcome.cause is Cause.RUNTIME_UNAVAILABLE


async def test_a_job_that_cannot_be_written_harms_no_other(rerank_server, clef, caplog):
    ranker = await clef(rerank_server("tei"))
    broken = job().model_copy(update={"candidates": (*memories(2), None)})
    bad, good = await ranker.rank([broken, job()], timeout=10)
    assert bad.cause is Cause.RANKER_ERROR
    assert isinstance(good, Scores)
    assert "AttributeError" in caplog.text


async def test_before_start_there_is_no_ranking(rerank_server, clef):
    ranker = await clef(rerank_server("tei"), start=False)
    (outcome,) = await ranker.rank([job()], timeout=5)
    assert outcome.cause is Cause.RUNTIME_UNAVAILABLE
