"""A chat turn in each framework, for real: with a worker, without one, and with a question that cannot be."""

import asyncio
import contextlib
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from examples.fastapi_chat.app import app as fastapi_app
from memsift_producer import process
from tests.producer.listening import listening

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "examples.django_chat.settings")
from django.test import Client

from examples.django_chat.asgi import application as django_app
from examples.django_chat.wsgi import application as django_wsgi

pytestmark = pytest.mark.stack

TURNS = [
    (
        "mara",
        "Where is the spare key to the cabin?",
        "The spare key to the cabin lies under the blue flowerpot.",
    ),
    ("小林", "备用钥匙放在哪里？", "备用钥匙放在门口的鞋柜第二层。"),
]
SECRET = "xyzzy-secret"


def asked(user, question, **more):
    return {"user": user, "session": "s1", "question": question, **more}


@contextlib.asynccontextmanager
async def over_fastapi():
    transport = httpx.ASGITransport(fastapi_app)
    async with (
        fastapi_app.router.lifespan_context(fastapi_app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        yield lambda body: client.post("/chat", json=body)


@contextlib.asynccontextmanager
async def over_django_asgi():
    async with listening(django_app) as url, httpx.AsyncClient(base_url=url) as client:
        yield lambda body: client.post("/chat", json=body)


@contextlib.asynccontextmanager
async def over_django_wsgi():
    async def post(body):
        return await asyncio.to_thread(client.post, "/sync/chat", body, content_type="application/json")

    client = Client(headers={"host": "localhost"})
    try:
        yield post
    finally:
        process._own.close()


everywhere = pytest.mark.parametrize(
    "serving", [over_fastapi, over_django_asgi, over_django_wsgi], ids=lambda one: one.__name__
)


@everywhere
@pytest.mark.parametrize(("user", "question", "answer"), TURNS)
async def test_the_answer_is_in_the_prompt(serving, environment, user, question, answer):
    environment(served=True)
    async with serving() as post:
        found = (await post(asked(user, question, turns=[{"role": "user", "text": "hello"}]))).json()
    assert answer in found["prompt"]
    assert found["prompt"].endswith(f"User: {question}")
    assert (len(found["memories"]), found["source"], found["cause"]) == (3, "model", None)


@everywhere
@pytest.mark.parametrize(("user", "question", "answer"), TURNS)
async def test_without_a_worker_the_fallback_shows(serving, environment, user, question, answer):
    environment(served=False)
    async with serving() as post:
        found = (await post(asked(user, question))).json()
    assert answer in found["prompt"]
    assert (found["source"], found["cause"]) == ("prefilter", "deadline")


@everywhere
async def test_who_has_no_memories_gets_a_prompt_without(serving, environment):
    environment(served=True)
    async with serving() as post:
        found = (await post(asked("nobody", "Where is my key?"))).json()
    assert "nothing that helps" in found["prompt"]
    assert (found["memories"], found["cause"]) == ([], "no_candidates")


@everywhere
async def test_a_question_that_cannot_be_is_refused_without_its_text(serving, environment):
    environment(served=True)
    async with serving() as post:
        refused = [
            await post(asked("mara", " ")),
            await post({**asked("mara", SECRET), "session": f"{SECRET}\x01"}),
        ]
    for answer in refused:
        assert answer.status_code == 422
        assert SECRET not in answer.content.decode()


async def test_many_turns_share_one_reranker(environment):
    environment(served=True)
    async with over_django_wsgi() as post:
        found = await asyncio.gather(*(post(asked(*TURNS[at % 2][:2])) for at in range(12)))
        assert [TURNS[at % 2][2] in one.json()["prompt"] for at, one in enumerate(found)] == [True] * 12
    async with over_fastapi() as post:
        found = await asyncio.gather(*(post(asked(*TURNS[at % 2][:2])) for at in range(12)))
        assert [TURNS[at % 2][2] in one.json()["prompt"] for at, one in enumerate(found)] == [True] * 12


async def test_it_is_closed_when_the_server_ends(environment):
    from examples.django_chat.reranking import current

    environment(served=True)
    async with over_fastapi():
        opened = fastapi_app.state.reranker
        assert opened._tasks
    assert not opened._tasks
    async with over_django_asgi():
        opened = current.reranker
        assert opened._tasks
    assert not opened._tasks


async def test_a_wrong_setting_fails_the_start_and_is_named(monkeypatch):
    monkeypatch.setenv("MEMSIFT_DEADLINE_MS", "soon")
    sent = []

    async def receive():
        return {"type": "lifespan.startup"}

    async def send(message):
        sent.append(message)

    await django_app({"type": "lifespan"}, receive, send)
    (failed,) = sent
    assert failed["type"] == "lifespan.startup.failed"
    assert failed["message"].startswith("MEMSIFT_DEADLINE_MS")


def test_a_process_that_answered_under_wsgi_ends(environment):
    """Given a thread and connections of its own, which must not hold it up."""
    environment(served=False)
    script = (
        "from django.test import Client; import examples.django_chat.wsgi;"
        "print(Client(headers={'host': 'localhost'}).post('/sync/chat',"
        "{'user': 'mara', 'session': 's1', 'question': 'Where is the key?'},"
        "content_type='application/json').json()['source'])"
    )
    root = Path(__file__).parent.parent.parent
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "prefilter\n"), ended.stderr
    assert django_wsgi
