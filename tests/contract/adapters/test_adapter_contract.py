"""What every adapter promises, before a real worker and without one; run against the real frameworks by
`make test-clients`, and always for the plain functions."""

import asyncio
import os

import pytest

from memsift_producer import Reranker, SyncReranker, process
from memsift_schemas import Kind
from tests.contract.adapters import promises
from tests.contract.adapters.conftest import BEGUN, QUEUE, URL
from tests.contract.adapters.promises import ANSWER, PROMISES, QUERY, TEXTS, falling
from tests.contract.adapters.subjects import ALL, ASYNC, SUBJECTS, Plain

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

by_all = pytest.mark.parametrize("subject", SUBJECTS, ids=lambda one: one.name)
by_all_async = pytest.mark.parametrize("subject", ASYNC, ids=lambda one: one.name)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda one: one.__name__)
@by_all
def test_it_keeps_its_promise(subject, promise, served):
    promise(subject, served)


@by_all_async
async def test_many_tasks_get_each_their_own(subject, served):
    await promises.tasks_get_each_their_own(subject, served)


@by_all_async
async def test_an_event_loops_own_reranker_will_do(subject, stack):
    url, queue = stack
    async with Reranker.from_url(url, queue=queue, deadline_ms=20_000) as reranker:
        await promises.tasks_get_each_their_own(subject, reranker)
        with pytest.raises(RuntimeError, match="await the async method, or give it a SyncReranker"):
            subject.ask(subject.adapter(reranker=reranker), QUERY, subject.documents(TEXTS))


@by_all
def test_without_a_worker_the_prefilter_answers_and_says_so(subject, unserved):
    found = subject.ask(subject.adapter(reranker=unserved), QUERY, subject.documents(TEXTS))
    assert found[0].text == ANSWER
    assert len(found) == len(TEXTS)
    assert falling(found)
    assert {(one.source, one.cause) for one in found} == {("prefilter", "deadline")}


@by_all_async
async def test_nor_does_it_raise_when_awaited(subject, unserved):
    found = await subject.ask_async(subject.adapter(reranker=unserved), QUERY, subject.documents(TEXTS))
    assert {(one.source, one.cause) for one in found} == {("prefilter", "deadline")}
    assert found[0].text == ANSWER


@by_all
def test_nor_without_redis(subject):
    with SyncReranker.from_url("redis://127.0.0.1:1/0") as reranker:
        found = subject.ask(subject.adapter(reranker=reranker), QUERY, subject.documents(TEXTS))
    assert found[0].text == ANSWER
    assert {one.source for one in found} == {"prefilter"}
    assert {one.cause for one in found} <= {"redis_unavailable", "breaker_open"}


@by_all_async
async def test_who_is_cancelled_waits_no_longer(subject, stack):
    url, queue = stack
    with SyncReranker.from_url(url, queue=f"{queue}:nobody", deadline_ms=60_000) as reranker:
        adapter = subject.adapter(reranker=reranker)
        asking = asyncio.create_task(subject.ask_async(adapter, QUERY, subject.documents(TEXTS)))
        await asyncio.sleep(0.3)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asking, 10)


@by_all
def test_what_the_framework_knows_of_a_document_its_memory_has(subject, served, asked):
    fields = {"similarity": 0.25, "created_at": "2026-03-02T10:12:00+08:00", "kind": "preference"}
    adapter = subject.adapter(reranker=served, user="u1", session="s1", ranker="jev")
    subject.ask(adapter, QUERY, subject.documents(TEXTS, **fields))
    (question,) = asked
    given = question.memories
    assert (question.user, question.session, question.ranker) == ("u1", "s1", "jev")
    assert [one["id"] for one in given] == ["d0", "d1", "d2", "d3"]
    assert {one["created_at"].isoformat() for one in given} == {"2026-03-02T10:12:00+08:00"}
    assert {(one["similarity"], one["kind"]) for one in given} == {(0.25, Kind.PREFERENCE)}


@by_all
def test_without_a_reranker_it_asks_the_processs_own(subject, stack, monkeypatch):
    url, queue = stack
    monkeypatch.setenv(URL, url)
    monkeypatch.setenv(QUEUE, queue)
    monkeypatch.setenv("MEMSIFT_DEADLINE_MS", "20000")
    own = process.own_reranker()
    try:
        promises.the_model_ranks(subject, None)
        assert process.own_reranker() is own
    finally:
        process._own.close()


def test_every_framework_is_here():
    if os.environ.get(BEGUN):
        assert tuple(SUBJECTS) == ALL
    assert "plain" in {one.name for one in SUBJECTS}


class Backwards(Plain):
    def ask(self, *asked):
        return super().ask(*asked)[::-1]


class Forgetful(Plain):
    def ask(self, *asked):
        return super().ask(*asked)[:3]


class Scribbling(Plain):
    def ask(self, adapter, query, documents):
        for one in documents:
            one["memsift_source"] = "model"
        return super().ask(adapter, query, documents)


class Telling(Plain):
    def ask(self, adapter, query, documents):
        try:
            return super().ask(adapter, query, documents)
        except ValueError as error:
            raise type(error)(f"query: {documents}") from None


class Sleepless(Plain):
    """Gives each caller what the one before it asked for."""

    before = ()

    def ask(self, *asked):
        found, self.before = self.before, super().ask(*asked)
        return found or self.before


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (Backwards(), promises.the_model_ranks),
        (Backwards(), promises.a_document_without_text_comes_last),
        (Forgetful(), promises.of_near_duplicates_one_is_at_the_front_and_all_come_back),
        (Forgetful(), promises.of_many_documents_the_answer_is_found_and_all_come_back),
        (Scribbling(), promises.what_was_given_stays_as_it_was),
        (Sleepless(), promises.threads_get_each_their_own),
        (Telling(), promises.errors_hold_no_text),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_the_contract_finds_who_breaks_it(broken, promise, served):
    with pytest.raises(AssertionError):
        promise(broken, served)
