"""Our own form: what the Python API takes and gives, over HTTP."""

import pytest

from memsift_schemas import RerankResult, Source
from memsift_schemas.job import MAX_JOB_BYTES
from tests.producer.gateway.conftest import QUERY

PATH = "/v1/memories/rerank"
CANDIDATES = [
    {"id": "m1", "text": "The spare key is under the pot.", "created_at": "2026-03-01T09:00:00+01:00"},
    {"id": "m2", "text": "Mara likes trains.", "created_at": None, "kind": "preference", "similarity": 0.4},
]


async def ask(client, headers=None, **body):
    return await client.post(PATH, json={"query": QUERY, "candidates": CANDIDATES, **body}, headers=headers)


async def test_a_job_goes_in_and_a_result_comes_out(client, worker):
    turns = [{"role": "user", "text": "We are at the cabin."}]
    answer = await ask(
        client,
        user="mara",
        session="s7",
        turns=turns,
        activity=["opened the calendar"],
        now="2026-03-18T09:00:00+01:00",
        top_k=1,
        ranker="jev",
    )
    result = RerankResult.model_validate_json(answer.content, strict=True)
    (job,) = worker.jobs
    assert (job.user, job.session, job.turns[0].text, job.activity) == (
        "mara",
        "s7",
        "We are at the cabin.",
        ("opened the calendar",),
    )
    assert (job.top_k, job.ranker, job.now.isoformat()) == (1, "jev", "2026-03-18T09:00:00+01:00")
    by_id = {one.id: one for one in job.candidates}
    assert by_id["m2"].created_at is None
    assert str(by_id["m2"].kind) == "preference"
    assert (result.source, result.job_id, len(result.selected)) == (Source.MODEL, job.id, 1)
    assert answer.headers["x-memsift-source"] == "model"


async def test_the_body_beats_the_headers(client, worker):
    headers = {"x-memsift-user": "jonas", "x-memsift-session": "s1"}
    await ask(client, headers=headers, user="mara", session="s2")
    await ask(client, headers=headers)
    assert [(job.user, job.session) for job in worker.jobs] == [("mara", "s2"), ("jonas", "s1")]


async def test_no_candidates_are_an_empty_ranking(client):
    result = RerankResult.model_validate_json((await ask(client, candidates=[])).content)
    assert (result.ranking, str(result.cause)) == ((), "no_candidates")


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"candidates": [CANDIDATES[0]] * 2}, "candidates: candidate ids must be unique"),
        ({"candidates": [{"id": "a", "text": "b"}]}, "candidates.0.created_at: Field required"),
        ({"candidates": [{**CANDIDATES[0], "text": " "}]}, "candidates.0: a memory's text must not be blank"),
        (
            {"candidates": [{**CANDIDATES[0], "id": f"m{at}"} for at in range(201)]},
            "candidates: Tuple should",
        ),
        ({"now": "2026-03-18T09:00:00"}, "now: Input should have timezone info"),
        ({"deadline_ms": 0}, "deadline_ms"),
        ({"turns": [{"role": "system", "text": "x"}]}, "turns.0.role"),
        ({"user": " mara"}, "user: an id must not hold"),
    ],
)
async def test_what_is_wrong_is_told_by_its_place(client, body, place):
    answer = await ask(client, **body)
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["message"].startswith(place)
    assert error == {**error, "code": "invalid", "request_id": answer.headers["x-request-id"]}


async def test_a_job_that_is_too_large_is_said_to_be(client):
    # Given a ranker that reads all of 200 long memories
    long = [{**CANDIDATES[0], "id": f"m{at}", "text": f"{at} " + "word " * 390} for at in range(200)]
    answer = await ask(client, candidates=long, ranker="jev")
    assert answer.status_code == 413
    assert f"over the limit of {MAX_JOB_BYTES}" in answer.json()["error"]["message"]
