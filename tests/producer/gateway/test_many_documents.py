"""More documents, or longer ones, than one job may hold."""

import pytest

from memsift_schemas.job import MAX_CANDIDATES
from tests.producer.gateway.conftest import QUERY, serving


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
