"""`jev` through Redis: a real worker, alone and before another, from our producer and from a plain client."""

import time
import uuid

import pytest
from celery import Celery

from memsift_ops.scene import load
from memsift_producer import Reranker
from memsift_schemas import Source, message, wire
from tests.samples import job, memories

pytestmark = pytest.mark.stack


async def test_it_answers_the_founding_question_in_both_languages_and_in_a_chain(start_worker):
    running = start_worker(ranker="jev", also_serve="jev>local")
    for lang, on in (("zh", "3月11日"), ("en", "9 October")):
        scene = load(lang)
        first = scene.turns[0]
        async with Reranker.from_url(running.url, queue=running.queue, deadline_ms=5_000) as reranker:
            asked = {
                "query": first.query,
                "memories": scene.recalled(first),
                "user": scene.user,
                "now": first.now,
            }
            found = await reranker.rerank(**asked)
            assert (found.source, found.result.ranker) == (Source.MODEL, "jev")
            assert all(on in one.text for one in found.memories()[:2])
            again = await reranker.rerank(**asked)
            assert [one.id for one in again.result.ranking] == [one.id for one in found.result.ranking]
            chained = await reranker.rerank(**asked, ranker="jev>local")
            assert (chained.source, chained.result.ranker) == (Source.MODEL, "jev>local")


def test_a_plain_celery_client_needs_no_prefilter(start_worker):
    running = start_worker(ranker="jev")
    whole = job(prior=(), candidates=tuple(memories(8)), deadline=time.time() + 30)
    data = {name: wire.dump_job(whole)[name] for name in ("query", "candidates")}
    app = Celery("somebody-elses", broker=running.url, backend=running.url)
    try:
        sent = app.send_task(
            message.TASK_NAME, kwargs={"job": data}, queue=running.queue, task_id=uuid.uuid4().hex
        )
        ranking = sent.get(timeout=10)["ranking"]
    finally:
        app.close()
    assert ranking[0]["id"] in {"m0", "m6"}  # the two about the spare key
