"""Whatever is broken behind the gateway, the answer is 200 with a ranking, and says where it comes from."""

import pytest

from memsift_producer.gateway.running import Pace, Turns
from memsift_schemas import Cause, Refusal
from tests.producer.gateway.conftest import DOCUMENTS, NOWHERE, QUERY, serving

BODIES = {
    "/v2/rerank": {"query": QUERY, "documents": DOCUMENTS},
    "/voyage/v1/rerank": {"query": QUERY, "documents": DOCUMENTS},
    "/tei/rerank": {"query": QUERY, "texts": DOCUMENTS},
    "/v1/memories/rerank": {
        "query": QUERY,
        "candidates": [
            {"id": str(at), "text": text, "created_at": None} for at, text in enumerate(DOCUMENTS)
        ],
    },
}


def first(path, body):
    rows = body if isinstance(body, list) else body.get("results", body.get("data", body.get("ranking")))
    return int(rows[0].get("index", rows[0].get("id"))), len(rows)


def origin(answer):
    return [answer.headers.get(f"x-memsift-{name}") for name in ("source", "cause")]


@pytest.mark.parametrize("path", BODIES)
async def test_without_redis_the_prefilter_answers(path):
    async with serving(redis_url=NOWHERE) as client:
        answer = await client.post(path, json=BODIES[path])
    assert answer.status_code == 200
    assert origin(answer) == ["prefilter", "redis_unavailable"]
    assert first(path, answer.json()) == (1, 3)  # the one about the key


@pytest.mark.parametrize("path", BODIES)
async def test_a_refusal_of_the_worker_is_a_fallback(client, worker, path):
    worker.answer = lambda job: Refusal(job_id=job.id, cause=Cause.RUNTIME_UNAVAILABLE)
    answer = await client.post(path, json=BODIES[path])
    assert answer.status_code == 200
    assert origin(answer) == ["prefilter", "runtime_unavailable"]


@pytest.mark.parametrize("path", BODIES)
async def test_where_those_behind_have_no_time_for_the_prefilter_either_it_is_the_order_given(
    client, worker, path, monkeypatch
):
    # Given a line in which only the order given is quick enough
    monkeypatch.setattr(Turns, "pace", lambda *_: Pace.AS_GIVEN)
    answer = await client.post(path, json=BODIES[path])
    # Then nobody is asked, and every document has its place
    assert (answer.status_code, worker.jobs) == (200, [])
    assert origin(answer) == ["prefilter", "overloaded"]
    assert first(path, answer.json()) == (0, 3)
    # And wrong input is still refused, and nothing to rank is still nothing
    wrong = await client.post(path, json={**BODIES[path], "query": ""})
    assert wrong.status_code == 422
    none = {name: [] if isinstance(value, list) else value for name, value in BODIES[path].items()}
    assert (await client.post(path, json=none)).headers.get("x-memsift-cause") in ("no_candidates", None)


async def test_an_open_breaker_is_a_fallback(valkey_url, queue, worker):
    worker.answer = worker.refuse
    async with serving(redis_url=valkey_url, queue=queue, breaker_failures=3) as client:
        causes = [origin(await client.post("/rerank", json=BODIES["/v2/rerank"]))[1] for _ in range(8)]
        ready = await client.get("/ready")
    assert causes[0] == "runtime_garbage"
    assert causes[-1] == "breaker_open"
    assert (ready.status_code, ready.json()["answers"]) == (200, "prefilter")


async def test_ready_tells_who_would_answer_and_health_that_it_lives(client):
    assert (await client.get("/ready")).json() == {"status": "ready", "answers": "model", "cause": None}
    assert (await client.get("/health")).json() == {"status": "ok"}
    async with serving(redis_url=NOWHERE) as alone:
        ready = await alone.get("/ready")
    assert ready.status_code == 200
    assert ready.json() == {"status": "ready", "answers": "prefilter", "cause": "redis_unavailable"}


async def test_an_answer_of_the_model_has_no_cause(client):
    assert origin(await client.post("/rerank", json=BODIES["/v2/rerank"])) == ["model", None]


async def test_a_path_that_is_none_is_not_repeated(client):
    answer = await client.get("/xyzzy-secret?q=xyzzy-secret")
    assert answer.status_code == 404
    assert "xyzzy" not in answer.text
    assert "/openapi.json" in answer.json()["detail"]


async def test_a_fault_of_ours_is_a_500_of_the_dialects_form(client, monkeypatch, caplog):
    async def broken(*_, **__):
        raise KeyError("xyzzy-secret")

    monkeypatch.setattr("memsift_producer.gateway.plain.rank", broken)
    for path in ("/v2/rerank", "/voyage/v1/rerank", "/tei/rerank"):
        answer = await client.post(path, json=BODIES[path])
        assert answer.status_code == 500
        assert "xyzzy" not in answer.text
    assert "KeyError at test_fallback.py" in caplog.text
    assert "xyzzy" not in caplog.text
