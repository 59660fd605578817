"""What the headers of a call say, and what those of an answer do."""

import asyncio
import re

import pytest

from tests.producer.gateway.conftest import DOCUMENTS, QUERY, serving

ASKED = {"query": QUERY, "documents": DOCUMENTS}


async def ask(client, path="/rerank", **headers):
    sent = {name.encode(): value.encode() for name, value in headers.items()}
    return await client.post(path, json=ASKED, headers=sent)


async def test_user_and_session_come_from_the_headers(client, worker):
    await ask(client, **{"X-Memsift-User": "小孟", "X-Memsift-Session": "s9"})
    await ask(client)
    assert [(job.user, job.session) for job in worker.jobs] == [("小孟", "s9"), ("anonymous", "default")]


@pytest.mark.parametrize("user", ["a\x01b", "x" * 129])
async def test_a_user_that_cannot_be_is_refused(client, worker, user):
    answer = await ask(client, **{"X-Memsift-User": user})
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("x-memsift-user: ")
    assert not worker.jobs


async def test_two_users_never_become_one(client, worker):
    """Bytes that are no UTF-8 are refused; replaced by a sign they would all be the same user."""
    answer = await client.post("/rerank", json=ASKED, headers={b"x-memsift-user": b"m\xe4ra"})
    assert (answer.status_code, answer.json()["message"]) == (400, "x-memsift-user: must be UTF-8")


async def test_the_answer_comes_by_the_deadline_of_the_header(client, worker):
    # Given a worker that never answers
    worker.answer = lambda job: None
    # When a call allows 80 ms of the default of 5 s
    answer = await ask(client, **{"X-Memsift-Deadline-Ms": "80"})
    # Then the prefilter answers, and says why
    assert answer.status_code == 200
    assert [answer.headers[f"x-memsift-{name}"] for name in ("source", "cause")] == ["prefilter", "deadline"]
    (job,) = worker.jobs
    assert job.deadline - job.sent_at == pytest.approx(0.08, abs=0.04)


async def test_no_call_may_take_longer_than_the_gateway_allows(valkey_url, queue, worker):
    async with serving(redis_url=valkey_url, queue=queue, gateway_max_deadline_ms=300) as client:
        await ask(client, **{"X-Memsift-Deadline-Ms": "999999999"})
    (job,) = worker.jobs
    assert job.deadline - job.sent_at == pytest.approx(0.3, abs=0.05)


async def test_the_time_that_the_body_took_counts(valkey_url, queue, worker):
    worker.answer = lambda job: None

    async def slowly():
        yield b'{"query": "key?", '
        await asyncio.sleep(0.2)
        yield b'"documents": ["a key"]}'

    async with serving(redis_url=valkey_url, queue=queue, deadline_ms=100) as client:
        answer = await client.post("/rerank", content=slowly(), headers={"content-type": "application/json"})
    assert (answer.status_code, answer.headers["x-memsift-cause"]) == (200, "deadline")
    assert not worker.jobs


@pytest.mark.parametrize("deadline", ["0", "-5", "soon", "1.5", "١", "1" * 30, ""])
async def test_a_deadline_that_is_no_number_is_refused(client, deadline):
    headers = {b"x-memsift-deadline-ms": deadline.encode()}
    answer = await client.post("/rerank", json=ASKED, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("x-memsift-deadline-ms: ")


async def test_a_request_id_comes_back(client):
    given = await ask(client, **{"X-Request-Id": "abc-123:4.5"})
    assert given.headers["x-request-id"] == "abc-123:4.5"
    made = [(await ask(client)).headers["x-request-id"] for _ in range(2)]
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in made)
    assert made[0] != made[1]


@pytest.mark.parametrize("given", ["a b", "x" * 129, "a;b"])
async def test_a_request_id_that_cannot_be_shown_is_replaced(client, given):
    answer = await ask(client, **{"X-Request-Id": given})
    assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": ""},
        {"content-type": "application/json", "content-encoding": "gzip"},
    ],
)
async def test_what_a_web_page_may_send_unasked_is_refused(client, worker, headers):
    answer = await client.post("/rerank", content=b'{"query": "a", "documents": ["b"]}', headers=headers)
    assert answer.status_code == 415
    assert not worker.jobs


async def test_no_web_page_may_call_unless_its_origin_is_set(client, valkey_url, queue):
    preflight = {
        "origin": "https://chat.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,authorization",
    }
    closed = await client.options("/rerank", headers=preflight)
    assert closed.status_code == 405
    assert "access-control-allow-origin" not in closed.headers
    origins = "https://chat.example, https://b.example"
    async with serving(redis_url=valkey_url, queue=queue, gateway_cors_origins=origins) as opened:
        allowed = await opened.options("/rerank", headers=preflight)
        other = await opened.options("/rerank", headers={**preflight, "origin": "https://evil.example"})
    assert allowed.headers["access-control-allow-origin"] == "https://chat.example"
    assert "access-control-allow-origin" not in other.headers
