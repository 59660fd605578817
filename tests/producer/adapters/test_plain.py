"""The plain functions: texts, mappings, memories; what else a question may say; wrong documents."""

import asyncio
import math

import pytest

from memsift_producer import Reranker
from memsift_producer.adapters.plain import rerank, rerank_async
from memsift_schemas import Cause, Memory, Source
from memsift_schemas.errors import InvalidInput
from memsift_schemas.keys import cancel_key
from tests.samples import NOW

QUERY = "Where is the spare key?"
TEXTS = ["The cabin has no heating.", "The spare key lies under the pot.", "Jonas moved to Trieste."]


async def test_texts_mappings_and_memories_come_back_as_they_were(reranker, worker):
    given = [
        TEXTS[0],
        {"memory": TEXTS[1], "id": 7, "created_at": "2026-03-02T10:12:00Z", "more": "stays"},
        Memory(id="m", text=TEXTS[2], created_at=NOW),
    ]
    found = await rerank_async(QUERY, given, reranker=reranker, text_key="memory")
    assert [given[one.index] for one in found] == [one.document for one in found]
    assert all(one.document is given[one.index] for one in found)
    assert {(one.source, one.cause) for one in found} == {(Source.MODEL, None)}
    candidates = {one.text: one for one in worker.jobs[0].candidates}
    assert (candidates[TEXTS[1]].id, candidates[TEXTS[2]].id) == ("7", "m")
    assert candidates[TEXTS[2]].created_at == NOW
    assert candidates[TEXTS[0]].created_at is None


async def test_what_else_is_known_of_the_question_reaches_the_worker(reranker, worker):
    about = {"turns": [{"role": "user", "text": "hello"}], "activity": ["opened the calendar"], "now": NOW}
    await rerank_async(
        QUERY, TEXTS, reranker=reranker, top_n=2, user="u1", session="s1", ranker="jev", about=about
    )
    (job,) = worker.jobs
    assert (job.user, job.session, job.ranker, job.top_k, job.now) == ("u1", "s1", "jev", 2, NOW)
    assert (job.turns[0].text, job.activity) == ("hello", ("opened the calendar",))


async def test_the_settings_stand_in_for_what_a_call_leaves_out(valkey_url, queue, worker):
    worker.answer = lambda job: None
    async with Reranker.from_url(valkey_url, queue=queue, deadline_ms=50, min_relevance=0.25) as reranker:
        found = await rerank_async(QUERY, TEXTS, reranker=reranker)
    assert {one.cause for one in found} == {Cause.DEADLINE}
    assert worker.jobs[0].min_relevance == 0.25


async def test_being_cancelled_withdraws_the_job(reranker, worker, redis, queue, eventually):
    worker.answer = lambda job: None
    asking = asyncio.create_task(rerank_async(QUERY, TEXTS, reranker=reranker, deadline=30))
    await eventually(lambda: worker.jobs)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    key = cancel_key(queue, worker.jobs[0].id)
    async with asyncio.timeout(2):
        while not await redis.exists(key):
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (7, "documents.1: must be a string, a mapping or a Memory"),
        ({"content": "secret"}, "documents.1: has no text under 'text': see `text_key`"),
        ({"text": ["secret"]}, "documents.1: has no text under 'text': see `text_key`"),
    ],
)
def test_a_document_without_a_text_is_named_by_its_place(wrong, told):
    with pytest.raises(InvalidInput) as error:
        rerank(QUERY, [TEXTS[0], wrong])
    assert str(error.value) == told


@pytest.mark.parametrize("wrong", [{"min_relevance": math.nan}, {"top": 3}, {"deadline": 0}, {"user": ""}])
def test_an_option_that_is_none_is_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        rerank(QUERY, TEXTS, **wrong)
