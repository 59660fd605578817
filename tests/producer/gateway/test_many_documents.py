"""More documents, or longer ones, than one job may hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_producer.gateway.shortlist import MAX_TEXT_BYTES, fits, shortlist, surely_fits
from memsift_schemas import Memory
from memsift_schemas.job import MAX_CANDIDATES, MAX_JOB_BYTES
from tests.producer.gateway.conftest import QUERY, serving


def memories(texts):
    return [
        Memory.model_validate({"id": str(at), "text": text, "created_at": None})
        for at, text in enumerate(texts)
    ]


async def ask(client, documents, **body):
    answer = await client.post("/v2/rerank", json={"query": QUERY, "documents": documents, **body})
    assert answer.status_code == 200, answer.text
    return answer


async def test_the_best_of_a_thousand_reach_the_ranker_and_all_come_back(client, worker):
    # Given a thousand documents whose answer stands last
    documents = [f"Note {at} about the weather." for at in range(999)]
    documents.append("The spare key to the cabin is under the pot.")
    # When they are ranked
    results = (await ask(client, documents)).json()["results"]
    # Then the answer was among those that the ranker saw, and every index is there
    (job,) = worker.jobs
    assert documents[999] in {memory.text for memory in job.candidates}
    assert sorted(one["index"] for one in results) == list(range(1000))
    scores = [one["relevance_score"] for one in results]
    assert scores == sorted(scores, reverse=True)


async def test_one_more_is_refused(client, worker):
    answer = await client.post("/v2/rerank", json={"query": QUERY, "documents": ["a"] * 1001})
    assert answer.status_code == 413
    assert answer.json()["message"] == "1001 documents are over the limit of 1000: send fewer"
    assert not worker.jobs


@pytest.mark.parametrize("text", ["钥匙", "\U0001f511 ", '"\\', "key "])
@pytest.mark.parametrize("model", [None, "jev"])
async def test_long_documents_never_make_a_job_too_large(client, worker, text, model):
    # Given the most documents of one job, each of the most characters, told apart by a number
    documents = [f"{at} {text * 1000}"[:2000] for at in range(MAX_CANDIDATES)]
    answer = await ask(client, documents, model=model)
    assert answer.headers["x-memsift-source"] == "model"
    assert len(answer.json()["results"]) == MAX_CANDIDATES


async def test_a_document_that_is_too_long_is_cut_for_the_ranker_alone(client, worker):
    long = "The key is here. " * 500
    results = (await ask(client, [long], return_documents=True)).json()["results"]
    assert results[0]["document"]["text"] == long
    assert len(worker.jobs[0].candidates[0].text) <= 2000


async def test_a_body_over_the_limit_is_refused_before_it_is_read(valkey_url, queue):
    async with serving(redis_url=valkey_url, queue=queue, gateway_max_bytes=2_000) as client:
        sized = await client.post("/rerank", json={"query": "a", "documents": ["b" * 3_000]})

        async def chunks():
            for _ in range(100):
                yield b"x" * 100

        unsized = await client.post("/rerank", content=chunks(), headers={"content-type": "application/json"})
    for answer in (sized, unsized):
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


@given(
    st.lists(st.text(min_size=1, max_size=3_000).map(lambda text: f"a{text}"), min_size=1, max_size=20),
    st.integers(1, 15),
    st.integers(1, MAX_CANDIDATES),
)
def test_what_is_shortlisted_fits_and_nothing_is_lost(texts, times, kept):
    given_ones = memories(texts * times)
    best, others = shortlist("a question", given_ones, kept)
    assert sorted(one.id for one in best + others) == sorted(one.id for one in given_ones)
    assert best
    assert fits(best, kept)
    if surely_fits(len(given_ones), kept):
        assert fits(given_ones, kept)
    if fits(given_ones, kept):
        assert not others


def test_the_margin_for_the_rest_of_a_job_is_enough():
    # 100 bytes for each memory's other fields, its score beside it, and a question of 2,000 characters
    assert MAX_TEXT_BYTES + 150 * MAX_CANDIDATES + 4 * 2_000 + 4_000 < MAX_JOB_BYTES
