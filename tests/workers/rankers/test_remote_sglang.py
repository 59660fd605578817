"""`decision` and `nox` against a real SGLang server: do its doors want what the test's own servers want?

The model has 135M parameters: it shows plumbing, not quality.
"""

import pytest

from memsift_workers.rankers.base import Scores, to_result
from tests.samples import job
from tests.workers.rankers.remote import connected

pytestmark = [
    pytest.mark.sglang,
    # The first test also waits for the installation, if there is none yet, and for the start.
    pytest.mark.timeout(900),
]

MODEL = "SmolLM2-135M-Instruct"
SECONDS = 60.0
# It runs in bfloat16, so a probability depends a little on what else is in the batch.
TOLERANCE = 0.1


@pytest.mark.parametrize("dialect", ["systemone", "sglang"])
async def test_decisions_are_probabilities_and_come_out_the_same_twice(sglang_server, dialect):
    settings = {"decision_dialect": dialect, "decision_model": MODEL}
    async with connected("decision", sglang_server, **settings) as ranker:
        whole = job(70)
        first, second = [(await ranker.rank([whole], timeout=SECONDS))[0] for _ in range(2)]
    assert len(first.values) == 70
    assert all(0 <= value <= 1 for value in first.values)
    assert len(set(first.values)) > 2
    assert first.values == pytest.approx(second.values, abs=TOLERANCE)
    assert first.prompt_tokens > 70 * 20
    assert ranker.model == MODEL


async def test_both_doors_of_sglang_say_the_same(sglang_server):
    whole = job()
    values = []
    for dialect in ("systemone", "sglang"):
        settings = {"decision_dialect": dialect, "decision_model": MODEL}
        async with connected("decision", sglang_server, **settings) as ranker:
            values.append((await ranker.rank([whole], timeout=SECONDS))[0].values)
    assert values[0] == pytest.approx(values[1], abs=TOLERANCE)


async def test_a_chat_model_is_held_to_the_schema(sglang_server):
    settings = {"nox_model": MODEL, "nox_url": f"{sglang_server}/v1"}
    async with connected("nox", sglang_server, **settings) as ranker:
        jobs = [job(), job(query="钥匙在哪里？")]
        outcomes = await ranker.rank(jobs, timeout=SECONDS)
    for whole, scores in zip(jobs, outcomes, strict=True):
        assert isinstance(scores, Scores), scores
        ranking = to_result(whole, scores, ranker).ranking
        assert sorted(place.id for place in ranking) == [f"m{at}" for at in range(6)]
        assert scores.reason is not None
        assert scores.prompt_tokens > scores.output_tokens > 0
