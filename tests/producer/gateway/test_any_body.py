"""Whatever bytes come, the answer is JSON of the dialect's form, and no fault of ours."""

import json
from itertools import pairwise

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memsift_producer.gateway import plain
from memsift_producer.gateway.app import DIALECTS
from memsift_producer.gateway.call import Call
from memsift_producer.gateway.problems import Problem
from memsift_producer.gateway.running import Turns
from memsift_producer.reranker import Reranker
from memsift_schemas import SystemClock
from memsift_schemas.settings import GatewaySettings
from tests.producer.gateway.conftest import NOWHERE

SETTINGS = GatewaySettings(redis_url=NOWHERE)
any_text = st.text(st.characters(exclude_categories=()), max_size=40)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | any_text
any_json = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(any_text, inner, max_size=5),
    max_leaves=12,
)
NAMES = [
    "query",
    "documents",
    "texts",
    "top_n",
    "top_k",
    "candidates",
    "turns",
    "now",
    "user",
    "model",
    "raw_scores",
]
# Bodies that are nearly right: the right names, with anything under them.
nearly = st.dictionaries(st.sampled_from(NAMES), any_json | st.lists(any_text, max_size=30), max_size=6)
documents = st.lists(any_text | any_text.map(lambda text: {"text": text}), min_size=1, max_size=60)
right = st.fixed_dictionaries(
    {"query": any_text.map(lambda text: f"q{text}"), "documents": documents},
    optional={"top_n": st.integers(1, 80), "return_documents": st.booleans(), "model": any_text},
)
raw_bodies = st.binary(max_size=200) | (any_json | nearly | right).map(lambda body: json.dumps(body).encode())


def call():
    clock = SystemClock()
    return Call(None, None, "default", 400, clock.monotonic(), SETTINGS, clock, Turns(clock))


@pytest.fixture(scope="module")
def reranker():
    """Never opened: every call is answered by the prefilter, at once."""
    return Reranker(SETTINGS)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=raw_bodies)
async def test_any_body_is_answered_or_refused(reranker, dialect, raw):
    try:
        answer = await dialect.answer(raw, call(), reranker)
    except Problem as problem:
        assert 400 <= problem.status < 500
        told = orjson.dumps(dialect.problem(problem, "r1"))
        dialect.refusal.model_validate_json(told)
        assert len(told) < 4_000
    else:
        dialect.response.model_validate_json(answer.body)


@given(body=right)
async def test_every_index_comes_back_once_and_scores_never_rise(body):
    reranker = Reranker(SETTINGS)
    texts = [one if isinstance(one, str) else one["text"] for one in body["documents"]]
    asked = plain.Asked(query=body["query"], texts=texts, top=body.get("top_n"))
    ranking = await plain.rank(asked, call(), reranker)
    indexes = [place.index for place in ranking.places]
    assert len(indexes) == min(len(texts), asked.top or len(texts))
    assert len(set(indexes)) == len(indexes)
    assert set(indexes) <= set(range(len(texts)))
    scores = [place.score for place in ranking.places]
    assert all(left > right for left, right in pairwise(scores))
