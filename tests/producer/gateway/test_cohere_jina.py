"""What Cohere's and Jina's clients send and read, and what they trip over."""

import pytest

from memsift_producer.gateway.dialects.cohere_jina import Response
from tests.producer.gateway.conftest import DOCUMENTS, NOWHERE, QUERY, serving

PATHS = ["/rerank", "/v1/rerank", "/v2/rerank"]


async def ask(client, path="/v2/rerank", **body):
    return await client.post(path, json={"query": QUERY, "documents": DOCUMENTS, **body})


@pytest.mark.parametrize("path", PATHS)
async def test_the_answer_is_the_union_of_what_both_sorts_of_clients_read(client, worker, path):
    answer = await ask(client, path, model="rerank-v3.5", max_tokens_per_doc=4096)
    assert answer.status_code == 200
    body = answer.json()
    Response.model_validate(body, strict=True)
    assert body["model"] == "rerank-v3.5"
    assert body["meta"] == {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}}
    assert len(worker.jobs) == 1


async def test_the_order_is_the_models_and_the_scores_fall(client, worker):
    # Given a worker that turns the candidates around
    results = (await ask(client)).json()["results"]
    # When it has ranked, then the answer's order is its own
    sent = [DOCUMENTS.index(memory.text) for memory in worker.jobs[0].candidates]
    assert [one["index"] for one in results] == sent[::-1]
    scores = [one["relevance_score"] for one in results]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)
    assert all(0 < score < 1 for score in scores)


async def test_documents_become_memories_whose_time_and_similarity_are_unknown(client, worker):
    await ask(client)
    (job,) = worker.jobs
    assert {(one.created_at, one.similarity) for one in job.candidates} == {(None, None)}
    assert {one.text for one in job.candidates} == set(DOCUMENTS)


async def test_a_document_keeps_its_id_wherever_it_stands(client, worker):
    """So that a session's prompts hold it already, and jev counts it once; also beside its own double."""
    await ask(client)
    await ask(client, documents=[DOCUMENTS[2], DOCUMENTS[1], "Another one.", DOCUMENTS[1]])
    first, second = ({one.text: one.id for one in job.candidates} for job in worker.jobs)
    assert all(second[text] == first[text] for text in DOCUMENTS[1:])
    assert len(set(first.values())) == 3


async def test_documents_may_be_objects_with_a_text(client):
    mixed = [{"text": DOCUMENTS[0], "title": "ignored"}, DOCUMENTS[1], {"text": DOCUMENTS[2]}]
    answer = await ask(client, documents=mixed, return_documents=True)
    assert {one["index"]: one["document"]["text"] for one in answer.json()["results"]} == dict(
        enumerate(DOCUMENTS)
    )


async def test_texts_come_back_only_when_asked_for(client):
    assert all("document" not in one for one in (await ask(client)).json()["results"])


async def test_top_n_cuts_the_ranking_and_nothing_else(client):
    everything = (await ask(client)).json()["results"]
    for two in (2, 2.0):
        assert (await ask(client, top_n=two)).json()["results"] == everything[:2]


@pytest.mark.parametrize("top_n", [None, 60, 1_000])
async def test_open_webui_gets_every_index_back(client, top_n):
    """It sends `top_n = len(documents)`, sorts by index and reads every score by position."""
    # Given near-duplicates, texts without a word, and more than the prefilter keeps
    documents = [f"{DOCUMENTS[at % 3]} Note {at // 3}." for at in range(57)] + ["", " \n", "\x00"]
    results = (await ask(client, documents=documents, top_n=top_n)).json()["results"]
    assert sorted(one["index"] for one in results) == list(range(60))
    assert [one["index"] for one in results[-3:]] == [57, 58, 59]


async def test_dify_never_gets_empty_results(client):
    """It fails on them, so that no documents are an error that says so."""
    answer = await ask(client, documents=[])
    assert answer.status_code == 422
    assert "documents" in answer.json()["detail"]
    assert len((await ask(client, documents=[" "])).json()["results"]) == 1
    assert (await ask(client, top_n=0)).status_code == 422


async def test_ragflow_gets_the_tokens(client, worker):
    """It needs `usage.total_tokens`."""
    worker.answer = lambda job: worker.reversed(job).model_copy(
        update={"prompt_tokens": 70, "output_tokens": 3}
    )
    assert (await ask(client)).json()["usage"] == {"total_tokens": 73}
    async with serving(redis_url=NOWHERE) as alone:
        assert (await ask(alone)).json()["usage"] == {"total_tokens": 0}


@pytest.mark.parametrize(
    ("model", "ranker"),
    [("jev", "jev"), ("jev>local", "jev>local"), ("rerank-v3.5", None), (None, None), ("jev>x", None)],
)
async def test_a_models_name_may_be_a_rankers(client, worker, model, ranker):
    await ask(client, model=model)
    assert worker.jobs[0].ranker == ranker


async def test_who_wants_all_documents_says_nothing_about_the_prompt(client, worker):
    await ask(client, top_n=3)
    await ask(client, top_n=2)
    assert [job.top_k for job in worker.jobs] == [3, 2]  # the setting's, the caller's


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"query": " \x00"}, "query: the query must not be blank"),
        ({"query": ""}, "query: String should have at least 1 character"),
        ({"query": 5}, "query: Input should be a valid string"),
        ({"documents": [1]}, "documents.0"),
        ({"documents": [{"image": "x"}]}, "documents.0.TextDocument.text: Field required"),
        ({"documents": "a"}, "documents: Input should be a valid array"),
        ({"top_n": -1}, "top_n: Input should be greater than or equal to 1"),
        ({"top_n": "3"}, "top_n: Input should be a valid integer"),
        ({"top_n": 1.5}, "top_n: Input should be a valid integer"),
        ({"top_n": True}, "top_n: Input should be a valid integer"),
    ],
)
async def test_what_is_wrong_is_told_by_its_place(client, body, place):
    answer = await ask(client, **body)
    assert answer.status_code == 422
    told = answer.json()
    assert place in told["message"]
    assert told["message"] == told["detail"]


async def test_a_hundred_faults_are_told_in_one_line(client):
    told = (await ask(client, documents=[1] * 100)).json()["message"]
    assert told.endswith("and 195 more")


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[1", b"\xff", b'{"query": "a", "documents": ["b"]} x', b"[" * 9999]
)
async def test_what_is_no_json_is_said_to_be_none(client, raw):
    answer = await client.post("/rerank", content=raw, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed")


async def test_half_an_emoji_does_not_cost_the_call(client, worker):
    raw = b'{"query": "key? \\ud83d", "documents": ["a key \\ude00", "b \\ud83d\\ude00"]}'
    answer = await client.post("/rerank", content=raw, headers={"content-type": "application/json"})
    assert answer.status_code == 200
    assert worker.jobs[0].query == "key? \ufffd"
    assert {one.text for one in worker.jobs[0].candidates} == {"a key \ufffd", "b \U0001f600"}
