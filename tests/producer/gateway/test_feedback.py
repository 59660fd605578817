"""Feedback over HTTP: for the key's own users alone, and in the contract."""

import pytest

from tests.producer.gateway.conftest import QUERY, bearer, entry, serving
from tests.producer.gateway.test_native import CANDIDATES

PATH = "/v1/memories/feedback"


async def ask(client, headers=None, **more):
    answer = await client.post(
        "/v1/memories/rerank", json={"query": QUERY, "candidates": CANDIDATES, **more}, headers=headers
    )
    return answer.json()


async def tell(client, headers=None, **body):
    return await client.post(PATH, json=body, headers=headers)


async def test_an_answer_is_told_of_once(valkey_url, queue, worker):
    async with serving(redis_url=valkey_url, queue=queue, deadline_ms=5_000, feedback_ttl_s=60) as client:
        result = await ask(client, user="mara")
        answers = [
            await tell(client, job_id=result["job_id"], used=["m1"], missed=["m9"], user="mara")
            for _ in range(2)
        ]
    assert [one.status_code for one in answers] == [200, 200]
    assert [one.json()["outcome"] for one in answers] == ["counted", "unknown"]
    assert "x-memsift-source" not in answers[0].headers


async def test_a_key_speaks_for_its_own_users_calls(guarded, worker):
    keys = entry("a", "msk_a", user="tenant-a/*"), entry("b", "msk_b", user="*"), entry("c", "msk_c")
    async with guarded(*keys, feedback_ttl_s=60) as client:
        result = await ask(client, bearer("msk_a"), user="tenant-a/mara")
        told = {"job_id": result["job_id"], "used": ["m1"]}
        assert (await tell(client, None, **told)).status_code == 401
        assert (await tell(client, bearer("msk_c"), **told, user="tenant-a/mara")).status_code == 403
        # Who may not name the user, or names another, does not learn that there is such a call
        for key, user in (("msk_c", None), ("msk_b", "tenant-b/jonas"), ("msk_a", "tenant-a/jonas")):
            answer = await tell(client, bearer(key), **told, **({"user": user} if user else {}))
            assert answer.json()["outcome"] == "unknown"
        header = {**bearer("msk_a"), "x-memsift-user": "tenant-a/mara"}
        assert (await tell(client, header, **told)).json()["outcome"] == "counted"


async def test_where_it_is_off_it_says_so(client):
    result = await ask(client)
    assert (await tell(client, job_id=result["job_id"], used=["m1"])).json()["outcome"] == "off"


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "job_id: Field required"),
        ({"job_id": "j", "used": "m1"}, "used"),
        ({"job_id": "j", "used": ["xyzzy\n"]}, "used.0: an id must not hold"),
        ({"job_id": "j", "missed": [f"m{at}" for at in range(201)]}, "missed: Tuple should have at most 200"),
    ],
)
async def test_what_is_wrong_is_told_by_its_place(client, body, place):
    answer = await client.post(PATH, json=body)
    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith(place)
    assert "xyzzy" not in answer.text


async def test_the_contract_has_it(client):
    document = (await client.get("/openapi.json")).json()
    operation = document["paths"][PATH]["post"]
    assert operation["responses"]["200"]["headers"] == {}
    schema = document["components"]["schemas"]["FeedbackRequest"]
    assert schema["properties"]["used"]["maxItems"] == 200
    outcomes = document["components"]["schemas"]["FeedbackFeedbackOutcome"]["enum"]
    assert set(outcomes) == {"counted", "unknown", "unavailable", "off"}
