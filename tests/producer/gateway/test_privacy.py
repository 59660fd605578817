"""No word of a caller in logs, errors, or Sentry; words are planted everywhere a caller can put them."""

import json
import logging

import pytest
import sentry_sdk
from sentry_sdk.integrations.logging import LoggingIntegration

from tests.producer.gateway.conftest import bearer, entry, serving
from tests.sentry_recorder import Recorder

SECRET = "xyzzy-secret"
MEMORY = {"id": "m1", "text": SECRET, "created_at": None}
# Right and wrong bodies, each with the word in all its parts.
BODIES = {
    "/rerank": [
        {"query": SECRET, "documents": [SECRET, {"text": SECRET}], "model": SECRET},
        {"query": SECRET, "documents": [{SECRET: SECRET}, 1, SECRET], "top_n": SECRET},
        {"query": [SECRET], SECRET: SECRET, "documents": SECRET},
        {"query": SECRET, "documents": [SECRET] * 5_000},
    ],
    "/voyage/v1/rerank": [
        {"query": SECRET, "documents": [SECRET], "model": SECRET, "top_k": 1},
        {"query": {"a": SECRET}, "documents": [{"text": SECRET}], "top_k": SECRET},
    ],
    "/tei/rerank": [
        {"query": SECRET, "texts": [SECRET], "raw_scores": True},
        {"query": SECRET, "texts": [[SECRET]], "truncate": SECRET},
    ],
    "/v1/memories/rerank": [
        {"query": SECRET, "candidates": [MEMORY], "turns": [{"role": "user", "text": SECRET}]},
        {"query": SECRET, "candidates": [{**MEMORY, "created_at": SECRET, "kind": SECRET}]},
        {"query": SECRET, "candidates": [MEMORY, MEMORY]},
        {"query": SECRET, "candidates": [MEMORY], "turns": [{"role": SECRET, "text": SECRET}], "now": SECRET},
        {"query": SECRET, "candidates": [MEMORY], "ranker": SECRET * 9},
    ],
}
CASES = [(path, body) for path, bodies in BODIES.items() for body in bodies]


@pytest.fixture
def sentry():
    """As an application starts it that has heard nothing of privacy: each log line is an event."""
    Recorder.forget()
    sentry_sdk.init(
        dsn="https://key@sentry.invalid/1",
        transport=Recorder,
        traces_sample_rate=1.0,
        integrations=[LoggingIntegration(level=logging.DEBUG, event_level=logging.INFO)],
    )
    yield Recorder
    sentry_sdk.get_client().close()
    sentry_sdk.get_global_scope().set_client(None)
    sentry_sdk.get_isolation_scope().clear()  # the breadcrumbs of one test are not the next one's


def recorded(sentry):
    sentry_sdk.flush(2)
    return b"".join(sentry.sent)


@pytest.mark.parametrize(("path", "body"), CASES, ids=lambda value: value if isinstance(value, str) else "")
async def test_no_word_is_told_but_to_the_caller(sentry, client, caplog, path, body):
    # Given everything logged that can be
    caplog.set_level(logging.DEBUG)
    # When a body comes, right or wrong
    answer = await client.post(path, content=json.dumps(body), headers={"content-type": "application/json"})
    # Then neither the log nor Sentry holds a word of it, nor a refusal
    assert answer.status_code in (200, 413, 422)
    assert "memsift.gateway" in caplog.text
    told = recorded(sentry)
    assert b"memsift.gateway" in told
    assert SECRET not in caplog.text
    assert SECRET.encode() not in told
    if answer.status_code != 200:
        assert SECRET not in answer.text


@pytest.mark.parametrize("raw", [b'{"query": "%b', b"%b", b'{"query": "%b", "documents": [nope]}', b'"%b"'])
async def test_nor_of_what_is_no_json(sentry, client, caplog, raw):
    caplog.set_level(logging.DEBUG)
    answer = await client.post(
        "/rerank", content=raw % SECRET.encode(), headers={"content-type": "application/json"}
    )
    assert answer.status_code in (400, 422)
    assert SECRET not in answer.text + caplog.text
    assert SECRET.encode() not in recorded(sentry)


async def test_nor_of_paths_queries_and_headers(sentry, client, caplog):
    caplog.set_level(logging.DEBUG, "memsift")
    for path in (f"/{SECRET}", f"/rerank?{SECRET}", f"/rerank/{SECRET}"):
        answer = await client.post(path, json={"query": "a"}, headers={"x-memsift-user": f"{SECRET}\x01"})
        assert SECRET not in answer.text
    assert SECRET not in caplog.text


async def test_nor_of_keys(sentry, valkey_url, queue, key_file, caplog):
    caplog.set_level(logging.DEBUG)
    told = {"redis_url": valkey_url, "queue": queue, "gateway_keys": key_file(entry("app", SECRET))}
    async with serving(**told) as client:
        answers = [
            await client.post("/rerank", json={"query": "a", "documents": ["b"]}, headers=bearer(key))
            for key in (SECRET, f"{SECRET}-wrong")
        ]
    assert [one.status_code for one in answers] == [200, 401]
    assert "key=app" in caplog.text
    assert SECRET not in caplog.text + answers[1].text
    assert SECRET.encode() not in recorded(sentry)


async def test_the_search_finds_a_log_line_that_tells(sentry, caplog):
    """Given the fault that the tests above are there for."""
    logging.getLogger("memsift.gateway").warning("about %s", SECRET)
    assert SECRET in caplog.text
    assert SECRET.encode() in recorded(sentry)
