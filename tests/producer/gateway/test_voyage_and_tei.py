"""Voyage's and TEI's forms, where they differ from Cohere's."""

import pytest

from memsift_producer.gateway.dialects import tei, voyage
from tests.producer.gateway.conftest import DOCUMENTS, QUERY


async def test_voyage_has_data_and_bare_documents(client, worker):
    asked = {"query": QUERY, "documents": DOCUMENTS, "model": "rerank-2", "top_k": 2, "truncation": True}
    answer = await client.post("/voyage/v1/rerank", json={**asked, "return_documents": True})
    body = answer.json()
    voyage.Response.model_validate(body, strict=True)
    assert (body["object"], body["model"], body["usage"]) == ("list", "rerank-2", {"total_tokens": 0})
    best = [DOCUMENTS.index(memory.text) for memory in worker.jobs[0].candidates][::-1][:2]
    assert [(one["index"], one["document"]) for one in body["data"]] == [(at, DOCUMENTS[at]) for at in best]


async def test_voyage_without_top_k_returns_all(client):
    answer = await client.post(
        "/voyage/v1/rerank", json={"query": QUERY, "documents": DOCUMENTS, "top_k": None}
    )
    assert sorted(one["index"] for one in answer.json()["data"]) == [0, 1, 2]
    assert "document" not in answer.json()["data"][0]


async def test_tei_answers_a_bare_list(client):
    answer = await client.post("/tei/rerank", json={"query": QUERY, "texts": DOCUMENTS, "return_text": True})
    body = answer.json()
    assert isinstance(body, list)
    for one in body:
        tei.Result.model_validate(one, strict=True)
    assert {one["index"]: one["text"] for one in body} == dict(enumerate(DOCUMENTS))


async def test_teis_raw_scores_have_the_same_order_and_no_bounds(client):
    asked = {"query": QUERY, "texts": DOCUMENTS, "truncate": False}
    plain = (await client.post("/tei/rerank", json=asked)).json()
    raw = (await client.post("/tei/rerank", json={**asked, "raw_scores": True})).json()
    assert [one["index"] for one in raw] == [one["index"] for one in plain]
    assert all(0 < one["score"] < 1 for one in plain)
    assert raw[-1]["score"] < 0
    assert [one["score"] for one in raw] == sorted((one["score"] for one in raw), reverse=True)


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        (
            "/voyage/v1/rerank",
            {"query": QUERY, "documents": []},
            {"detail": "documents: ", "code": "invalid"},
        ),
        ("/tei/rerank", {"query": QUERY, "texts": []}, {"error": "texts: ", "error_type": "validation"}),
    ],
)
async def test_each_refuses_in_its_own_form(client, path, body, told):
    answer = await client.post(path, json=body)
    assert answer.status_code == 422
    said = answer.json()
    assert said["request_id"] == answer.headers["x-request-id"]
    assert all(said[name].startswith(start) for name, start in told.items())


async def test_tei_is_understood_at_its_own_path(client):
    """Haystack's `HuggingFaceTEIRanker` calls `/rerank` of the host, whatever path it is given."""
    answer = await client.post("/rerank", json={"query": QUERY, "texts": DOCUMENTS})
    assert sorted(one["index"] for one in answer.json()) == [0, 1, 2]
    # No text passes for a key
    odd = await client.post(
        "/rerank", json={"query": 'what is "texts": ?', "documents": ['{"texts": []}', "texts"]}
    )
    assert len(odd.json()["results"]) == 2
    refused = (await client.post("/rerank", json={"query": "", "texts": []})).json()
    assert refused["error"] == refused["message"] == refused["detail"]
    assert refused["error_type"] == "validation"
