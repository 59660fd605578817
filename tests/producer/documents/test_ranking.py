"""Documents of any sort through a real `Reranker`: ids, order, what is left out."""

import math

import pytest

from memsift_producer.documents import rank, within
from memsift_producer.documents.ranking import identified
from memsift_producer.question import Question
from memsift_schemas import Ranked, RerankResult, Source, SystemClock
from memsift_schemas.job import MAX_CANDIDATES

QUERY = "Where is the spare key?"
TEXTS = ["The cabin has no heating.", "The spare key lies under the pot.", "Jonas moved to Trieste."]
DOCUMENTS = [{"text": text} for text in TEXTS]


def ranked(reranker, given, **more):
    ask = within(reranker, 5.0, SystemClock())
    return rank(Question(QUERY, given, **more), ask, settings=reranker.settings)


def test_where_payloads_are_sealed_no_text_can_be_tried_against_an_id():
    keys = [None, f"k1:{'00' * 32}", f"k1:{'01' * 32}"]
    made = [identified(DOCUMENTS, key)[0].keys() for key in keys]
    assert len(set().union(*made)) == 9
    assert identified(DOCUMENTS, keys[1])[0].keys() == made[1]


async def test_a_documents_own_id_is_its_memorys(reranker, worker):
    given = [{"text": text, "id": f"m{at}"} for at, text in enumerate(TEXTS)]
    await ranked(reranker, given)
    assert {one.text: one.id for one in worker.jobs[0].candidates} == {
        text: f"m{at}" for at, text in enumerate(TEXTS)
    }


async def test_of_documents_with_one_id_each_has_its_place(reranker, worker):
    given = [{"text": text, "id": "same"} for text in TEXTS]
    found = await ranked(reranker, given)
    assert sorted(place.index for place in found.places) == [0, 1, 2]
    assert len({one.id for one in worker.jobs[0].candidates}) == 3


async def test_near_duplicates_and_blank_ones_come_last(reranker, worker):
    given = [*DOCUMENTS, {"text": " "}, {"text": "The spare key lies under the pot!"}, {"text": ""}]
    order = [place.index for place in (await ranked(reranker, given)).places]
    assert order[-3:] == [4, 3, 5]
    assert len(worker.jobs[0].candidates) == 3


def with_relevance(*values):
    def answer(job):
        places = zip(job.candidates, values, strict=True)
        ranking = tuple(
            Ranked(id=one.id, score=-at, evidence=0.0, relevance=value)
            for at, (one, value) in enumerate(places)
        )
        return RerankResult(job_id=job.id, ranking=ranking, source=Source.MODEL)

    return answer


@pytest.mark.parametrize(("least", "count"), [(None, 4), (0.0, 3), (0.5, 2), (0.91, 0)])
async def test_what_is_known_to_be_less_relevant_is_left_out(reranker, worker, least, count):
    worker.answer = with_relevance(0.9, 0.5, 0.1)
    # Given a duplicate, of which nothing is known but that another says the same
    given = [*DOCUMENTS, {"text": "The spare key lies under the pot!"}]
    found = await ranked(reranker, given, min_relevance=least)
    assert len(found.places) == count


async def test_where_no_relevance_is_known_nothing_is_left_out(reranker, worker):
    worker.answer = with_relevance(None, None, None)
    assert len((await ranked(reranker, DOCUMENTS, min_relevance=0.9)).places) == 3


async def test_ids_of_the_greatest_length_make_no_job_too_large(reranker, worker):
    given = [
        {"text": f"{at} {'钥' * 2_000}", "id": f"{'号' * 120}{at}", "similarity": math.pi}
        for at in range(MAX_CANDIDATES)
    ]
    found = await ranked(reranker, given, ranker="jev")
    assert found.result.source is Source.MODEL
    assert sorted(place.index for place in found.places) == list(range(MAX_CANDIDATES))
