"""`decision`: what a decision model is asked, in which portions, and how its answers are read."""

import json

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_schemas import Cause, Turn
from memsift_workers.rankers.base import Scores
from memsift_workers.rankers.decision.endpoint import error_names
from memsift_workers.rankers.decision.questions import QUESTION_TOKENS, Question, split, state, tokens_at_most
from tests.samples import job, memory
from tests.workers.rankers.model_server import Decider
from tests.workers.rankers.remote import asking, order

CLEF = "/accounts/0815/ai/run/@cf/cloudflare/clef"


def many(count):
    return job(candidates=tuple(memory(at) for at in range(count)), prior=())


async def test_one_noul_question_per_memory_about_one_state():
    async with asking("decision") as (server, ranker):
        whole = job(3, turns=(Turn(role="user", text="I packed."),))
        (scores,) = await ranker.rank([whole], timeout=5)
        ((path, _, body),) = server.seen
        assert path == "/v1/systemone"
        assert {one["type"] for one in body["questions"].values()} == {"noul"}
        asked = [one["instructions"] for one in body["questions"].values()]
        texts = [one.text for one in whole.candidates]
        assert all(text in question for text, question in zip(texts, asked, strict=True))
        assert "2026-03-18" in body["state"]
        assert whole.query in body["state"]
        assert "I packed." in body["state"]
        assert all(0 <= value <= 1 for value in scores.values)
        assert (ranker.model, scores.prompt_tokens, scores.output_tokens) == ("decider-1", 70, 2)


@pytest.mark.parametrize(
    ("dialect", "rule", "path"),
    [
        ("systemone", Decider(), ""),
        ("systemone", Decider(envelope=True), ""),
        ("workers-ai", Decider(path=CLEF, envelope=True), CLEF),
        ("sglang", Decider(path="/v1/decisions"), ""),
    ],
)
async def test_every_dialect_ranks(dialect, rule, path):
    settings = {"decision_dialect": dialect}
    async with (
        asking("decision", rule, start=False) as (server, _),
        asking_at(server.url + path, **settings) as ranker,
    ):
        whole = job(query="Who is allergic to hazelnuts?")
        (scores,) = await ranker.rank([whole], timeout=5)
        assert order(whole, scores, ranker)[0] == "m2"
        assert scores.prompt_tokens == 70


def asking_at(url, **settings):
    from tests.workers.rankers.remote import connected

    return connected("decision", url, decision_url=url, **settings)


async def test_a_long_list_is_split_to_the_servers_limits_and_put_together_in_order():
    async with asking("decision", decision_usd_per_million_in=0.042) as (server, ranker):
        whole = many(150)
        (scores,) = await ranker.rank([whole], timeout=5)
        assert sorted(len(body["questions"]) for _, _, body in server.seen) == [22, 64, 64]
        assert len(scores.values) == 150
        # Texts repeat every six, and so do their scores
        assert scores.values[:6] == scores.values[6:12] == scores.values[144:]
        assert scores.prompt_tokens == 210
        assert scores.cost_usd == pytest.approx(210 * 0.042 / 1e6)


async def test_when_one_portion_fails_the_job_has_no_ranking():
    async with asking("decision", Decider(leave_out=["m100"])) as (_, ranker):
        long, short = await ranker.rank([many(150), many(20)], timeout=5)
        assert long.cause is Cause.RUNTIME_GARBAGE
        assert isinstance(short, Scores)


ODD = [
    {"answers": {}},
    {"answers": []},
    {"answers": {"m1": {"noul": 1.2}}},
    {"answers": {"m1": {"noul": -0.1}}},
    {"answers": {"m1": {"noul": None}}},
    {"answers": {"m1": {"noul": True}}},
    {"answers": {"m1": {"noul": "0.5"}}},
    {"answers": {"m1": 0.5}},
    b'{"answers": {"m1": {"noul": NaN}}}',
    {"success": True, "result": None},
    {"success": True, "result": {"answers": {}}},
]


@pytest.mark.parametrize("answer", ODD, ids=str)
async def test_an_answer_without_one_probability_per_question_is_garbage(answer):
    async with asking("decision") as (server, ranker):
        server.fault = lambda *_: {"kind": "raw", "answer": answer}
        (outcome,) = await ranker.rank([job(1)], timeout=5)
        assert outcome.cause is Cause.RUNTIME_GARBAGE


async def test_an_envelope_without_success_is_a_server_that_is_away():
    async with asking("decision") as (server, ranker):
        answer = {"result": None, "success": False, "errors": [{"code": 3040}], "messages": []}
        server.fault = lambda *_: {"kind": "raw", "answer": answer}
        (outcome,) = await ranker.rank([job(1)], timeout=5)
        assert outcome.cause is Cause.RUNTIME_UNAVAILABLE


ERRORS = [
    (
        {"detail": [{"loc": ["body", "questions", "m1"], "msg": "xyzzy is bad", "type": "string_type"}]},
        "string_type, body.questions.m1",
    ),
    ({"detail": {"error_type": "authentication_error", "message": "xyzzy"}}, "authentication_error"),
    ({"error": {"message": "xyzzy", "field": "questions"}}, "questions"),
    ({"error": "xyzzy went wrong"}, ""),
    ({"errors": [{"code": 3040, "message": "xyzzy"}], "success": False}, "3040"),
    ({"object": "error", "message": "xyzzy", "type": "BadRequestError", "code": 400}, "BadRequestError, 400"),
    ({"detail": {"error_type": "xyzzy said that"}}, ""),
    ([], ""),
    ({"detail": [[]]}, ""),
]


@pytest.mark.parametrize(("body", "names"), ERRORS, ids=str)
async def test_errors_are_told_by_name_and_without_their_sentences(body, names):
    async with asking("decision") as (server, ranker):
        server.fault = lambda *_: {"kind": "status", "status": 422, "answer": body}
        (outcome,) = await ranker.rank([job()], timeout=5)
        assert outcome.cause is Cause.RUNTIME_UNAVAILABLE
        assert str(outcome).endswith(f"HTTP 422 ({names})" if names else "HTTP 422")
        assert "xyzzy" not in str(outcome)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["detail", "type", "loc"]), inner),
    max_leaves=20,
)


@given(json_values)
def test_no_error_body_is_too_odd(value):
    assert all(" " not in name for name in error_names(json.dumps(value).encode()))


@given(
    st.lists(st.text(max_size=300), max_size=80),
    st.integers(0, 2_000),
    st.integers(1, 64),
    st.integers(100, 4_000),
)
def test_portions_keep_to_the_limits_and_lose_nothing(texts, state_tokens, most_questions, most_tokens):
    asked = [Question(f"m{at}", text) for at, text in enumerate(texts)]
    parts = list(
        split(asked, state_tokens=state_tokens, most_questions=most_questions, most_tokens=most_tokens)
    )
    assert [one for part in parts for one in part] == asked
    assert all(1 <= len(part) <= most_questions for part in parts)
    for part in parts:
        used = state_tokens + sum(QUESTION_TOKENS + tokens_at_most(one.text) for one in part)
        assert used <= most_tokens or len(part) == 1


def test_the_state_keeps_the_question_and_the_newest_turns():
    turns = tuple(Turn(role="user", text=f"turn {at} " + "word " * 100) for at in range(8))
    whole = job(turns=turns)
    told = state(whole, most_tokens=600)
    assert whole.query in told
    assert "turn 7" in told
    assert "turn 0" not in told
    assert tokens_at_most(told) <= 600
    assert "turn 0" in state(whole, most_tokens=8_000)
    assert "turn" not in state(whole, most_tokens=50)


def test_headers_of_httpx_are_found_in_lower_case():
    from memsift_workers.rankers.retrying import stated_wait

    assert stated_wait(httpx.Headers({"Retry-After-MS": "10"})) == 0.01
