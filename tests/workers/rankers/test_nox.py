"""`nox`: what a chat model is sent, what it may refuse, and what its answer costs."""

import json
import logging
import re
import subprocess
import sys

import pytest

from memsift_schemas import Cause
from memsift_schemas.settings import WorkerSettings, load
from memsift_workers.assembly import build_rankers
from memsift_workers.rankers.base import Scores
from memsift_workers.runtimes.base import RuntimeMisconfigured
from tests.samples import job, memory
from tests.workers.rankers.model_server import Chat
from tests.workers.rankers.remote import asking, order


def bodies(server):
    return [body for _, _, body in server.seen]


async def test_the_answer_is_held_to_a_schema_with_the_ids_and_nothing_is_left_to_chance():
    async with asking("nox") as (server, ranker):
        whole = job(4, top_k=2)
        (scores,) = await ranker.rank([whole], timeout=5)
        (body,) = bodies(server)
        form = body["response_format"]
        assert (form["type"], form["json_schema"]["strict"]) == ("json_schema", True)
        ranking = form["json_schema"]["schema"]["properties"]["ranking"]
        assert ranking["items"]["enum"] == ["m1", "m2", "m3", "m4"]
        assert body["temperature"] == 0
        assert scores.reason == "It names the place."
        assert not any(memory.id in str(body) for memory in whole.candidates if memory.id == "m0")


async def test_what_is_not_named_follows_in_the_prefilters_order():
    async with asking("nox", Chat(named=1)) as (_, ranker):
        whole = job(4, query="Who is allergic to hazelnuts?", prior=(1.0, 4.0, 2.0, 3.0))
        (scores,) = await ranker.rank([whole], timeout=5)
        assert order(whole, scores, ranker) == ["m2", "m1", "m3", "m0"]


async def test_tokens_and_money_are_counted():
    prices = {"in": 2.0, "out": 8.0, "cached": 0.5}
    settings = {f"nox_usd_per_million_{name}": price for name, price in prices.items()}
    async with asking("nox", **settings) as (_, ranker):
        (scores,) = await ranker.rank([job()], timeout=5)
        assert (scores.prompt_tokens, scores.cached_tokens, scores.output_tokens) == (1000, 400, 50)
        assert scores.cost_usd == pytest.approx((600 * 2.0 + 400 * 0.5 + 50 * 8.0) / 1e6)
    del settings["nox_usd_per_million_cached"]
    async with asking("nox", **settings) as (_, ranker):
        (scores,) = await ranker.rank([job()], timeout=5)
        assert scores.cost_usd == pytest.approx((1000 * 2.0 + 50 * 8.0) / 1e6)


@pytest.mark.parametrize(
    ("refuses", "left"),
    [
        (["json_schema"], "{'type': 'json_object'}"),
        (["temperature"], None),
        (["max_completion_tokens"], "'max_tokens'"),
        (["json_schema", "temperature", "max_completion_tokens"], "{'type': 'json_object'}"),
    ],
)
async def test_what_an_endpoint_refuses_is_left_out_and_remembered(refuses, left):
    async with asking("nox", Chat(refuses=refuses)) as (server, ranker):
        # The start has found it out
        outcomes = await ranker.rank([job(), job()], timeout=5)
        assert all(isinstance(outcome, Scores) for outcome in outcomes)
        sent = bodies(server)
        assert len(sent) == 2
        assert not any(f"'{name}'" in str(body) for name in refuses for body in sent)
        assert left is None or all(left in str(body) for body in sent)


async def test_a_request_that_is_refused_for_another_reason_takes_nothing_from_the_next():
    async with asking("nox") as (server, ranker):
        server.fault = lambda _, body: (
            {"kind": "status", "status": 400} if "poison" in str(body["messages"]) else None
        )
        (outcome,) = await ranker.rank([job(query="poison?")], timeout=5)
        assert outcome.cause is Cause.RUNTIME_UNAVAILABLE
        await ranker.rank([job()], timeout=5)
        assert bodies(server)[-1]["response_format"]["type"] == "json_schema"


async def test_an_account_without_credit_is_not_asked_again():
    async with asking("nox") as (server, ranker):
        answer = {"error": {"message": "no credit", "code": "insufficient_quota"}}
        server.fault = lambda *_: {"kind": "status", "status": 429, "answer": answer}
        (outcome,) = await ranker.rank([job()], timeout=5)
        assert outcome.cause is Cause.RUNTIME_UNAVAILABLE
        assert len(server.seen) == 1


def said(text, **more):
    choice = {"index": 0, "finish_reason": "stop", "message": {"content": text}, **more}
    return {"choices": [choice], "usage": None}


ODD = {
    "no JSON": said("I would pick m1."),
    "fenced": said('```json\n{"ranking": ["m1"], "reason": "x"}\n```'),
    "unknown id": said('{"ranking": ["m99"], "reason": "x"}'),
    "no id": said('{"ranking": [], "reason": "x"}'),
    "no reason": said('{"ranking": ["m1"]}'),
    "unhashable": said('{"ranking": [["m1"]], "reason": "x"}'),
    "a refusal": said(None),
    "cut off": said('{"ranking": ["m1"], "reason": "x"}', finish_reason="length"),
    "no choices": {"choices": []},
    "odd counts": {**said('{"ranking": ["m1"], "reason": "x"}'), "usage": {"prompt_tokens": -1}},
}


@pytest.mark.parametrize("answer", ODD.values(), ids=ODD)
async def test_an_answer_that_is_no_ranking_is_garbage(answer):
    async with asking("nox") as (server, ranker):
        server.fault = lambda *_: {"kind": "raw", "answer": answer}
        (outcome,) = await ranker.rank([job()], timeout=5)
        assert outcome.cause is Cause.RUNTIME_GARBAGE


async def test_a_server_that_counts_nothing_ranks_all_the_same():
    async with asking("nox") as (server, ranker):
        text = json.dumps({"ranking": ["m2", "m2", "m1"], "reason": "long. " * 100})
        server.fault = lambda *_: {"kind": "raw", "answer": said(text)}
        whole = job(3)
        (scores,) = await ranker.rank([whole], timeout=5)
        assert order(whole, scores, ranker) == ["m1", "m0", "m2"]
        assert (scores.prompt_tokens, scores.cost_usd) == (0, 0.0)
        assert len(scores.reason) <= 160


async def test_many_memories_get_room_for_many_ids():
    async with asking("nox") as (server, ranker):
        whole = job(candidates=tuple(memory(at) for at in range(200)), prior=(), top_k=200)
        await ranker.rank([whole, job()], timeout=5)
        few, many = sorted(body["max_completion_tokens"] for body in bodies(server))
        assert few < 200
        assert many > 1_000


async def test_the_conversation_and_the_day_are_told():
    async with asking("nox") as (server, ranker):
        await ranker.rank([job(activity=("opened the calendar",))], timeout=5)
        prompt = bodies(server)[0]["messages"][1]["content"]
        assert "Today is Wednesday, 2026-03-18" in prompt
        assert "opened the calendar" in prompt
        assert re.findall(r"^(m\d+): ", prompt, flags=re.MULTILINE) == [f"m{at}" for at in range(1, 7)]


async def test_a_key_of_the_environment_reaches_no_other_endpoint(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    async with asking("nox", nox_api_key="") as (server, ranker):
        await ranker.rank([job()], timeout=5)
        assert "sk-secret" not in str(server.seen)


async def test_the_clients_own_debug_log_stays_off(caplog):
    caplog.set_level(logging.DEBUG)
    logging.getLogger("openai").setLevel(logging.DEBUG)
    async with asking("nox"):
        assert not logging.getLogger("openai._base_client").isEnabledFor(logging.DEBUG)


def test_a_model_must_be_named():
    with pytest.raises(RuntimeMisconfigured, match="MEMSIFT_NOX_MODEL"):
        build_rankers(load(WorkerSettings, ranker="nox"))


def test_without_the_client_the_remedy_is_told():
    code = (
        "import sys; sys.modules['openai'] = None\n"
        "from memsift_schemas.settings import WorkerSettings\n"
        "from memsift_workers.assembly import build_rankers\n"
        "build_rankers(WorkerSettings(ranker='nox', nox_model='m'))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'memsift[nox]'" in ended.stderr
