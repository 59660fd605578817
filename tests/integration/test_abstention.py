"""A question that nothing answers, through Redis and a real worker: its prompt stays empty."""

import uuid

import pytest
from celery import Celery

from memsift_ops.errors import Failure
from memsift_producer import Reranker
from memsift_schemas import Source, message, wire
from memsift_schemas.calibration import Calibration
from tests.producer.test_abstention import STEP, STORES
from tests.samples import NOW, job, memory

pytestmark = pytest.mark.stack


@pytest.fixture
def calibration(tmp_path):
    path = tmp_path / "calibration.json"
    path.write_text(Calibration(curves={"jev": STEP, "prefilter": STEP}).model_dump_json())
    return path


def store(tongue):
    return [memory(at, id=f"m{at}", text=text, similarity=None) for at, text in enumerate(STORES[tongue][0])]


async def test_what_nothing_answers_gets_no_memory_and_what_one_answers_gets_it(start_worker, calibration):
    # Given a worker with a curve for jev and none for the chain
    running = start_worker(ranker="jev", also_serve="jev>local", calibration=calibration)
    async with Reranker.from_url(
        running.url, queue=running.queue, deadline_ms=5_000, min_relevance=0.5
    ) as reranker:
        for tongue, (texts, asked, unanswered) in STORES.items():
            # When one memory answers
            found = await reranker.rerank(query=asked, memories=store(tongue), now=NOW)
            # Then it is the prompt's first
            assert (found.source, found.abstained, found.texts()[0]) == (Source.MODEL, False, texts[0])
            assert found.result.ranking[0].relevance > 0.5
            # When none does
            nothing = await reranker.rerank(query=unanswered, memories=store(tongue), now=NOW)
            # Then the prompt is empty, and the ranking whole
            assert (nothing.source, nothing.abstained, nothing.texts()) == (Source.MODEL, True, [])
            assert len(nothing.result.ranking) == len(texts)
            # And where there is no curve nothing is cut
            chained = await reranker.rerank(
                query=unanswered, memories=store(tongue), now=NOW, ranker="jev>local"
            )
            assert (chained.source, len(chained.texts())) == (Source.MODEL, 3)
            assert {place.relevance for place in chained.result.ranking} == {None}


def test_a_plain_celery_client_reads_what_is_selected(start_worker, calibration):
    running = start_worker(ranker="jev", calibration=calibration)
    app = Celery("somebody-elses", broker=running.url, backend=running.url)
    try:
        for query, selected in zip(STORES["en"][1:], (["m0"], []), strict=True):
            data = wire.dump_job(
                job(query=query, candidates=tuple(store("en")), prior=(), min_relevance=0.5, deadline=4e9)
            )
            sent = app.send_task(
                message.TASK_NAME, kwargs={"job": data}, queue=running.queue, task_id=uuid.uuid4().hex
            )
            assert sent.get(timeout=10)["selected"] == selected
    finally:
        app.close()


def test_a_worker_with_a_broken_calibration_does_not_start(start_worker, tmp_path):
    path = tmp_path / "broken.json"
    path.write_text("{")
    with pytest.raises(Failure) as caught:
        start_worker(ranker="jev", calibration=path)
    assert "MEMSIFT_CALIBRATION" in "".join(caught.value.log)
