"""A bad job never takes its batch down, and every fault has its cause."""

import math

import pytest

from memsift_schemas import Cause
from memsift_workers.rankers.base import RankFault, Scores, to_result
from memsift_workers.runtimes.base import (
    Answer,
    RuntimeGarbage,
    RuntimeMisconfigured,
    RuntimeTimeout,
    RuntimeUnavailable,
)
from memsift_workers.strategies.likelihood import Likelihood
from tests.fakes import FakeRuntime, local_ranker
from tests.samples import job

STRATEGY = Likelihood(weight_en=1.0, weight_zh=1.0)


async def ranked(runtime, jobs, timeout=5.0, strategy=STRATEGY):
    return await local_ranker(runtime, strategy).rank(jobs, timeout=timeout)


async def test_a_batch_is_one_request():
    runtime = FakeRuntime()
    outcomes = await ranked(runtime, [job(3), job(4)])
    assert [len(outcome.values) for outcome in outcomes] == [3, 4]
    assert [len(batch) for batch in runtime.batches] == [7]


async def test_a_ranker_that_serves_twice_loads_its_model_once():
    runtime = FakeRuntime()
    ranker = local_ranker(runtime, STRATEGY)
    await ranker.start()
    await ranker.start()
    assert runtime.starts == 1


async def test_the_job_that_breaks_the_request_falls_alone():
    def fault(calls):
        return RuntimeUnavailable("HTTP 500") if any("poison" in call.suffix for call in calls) else None

    runtime = FakeRuntime(fault=fault)
    good, bad, other = await ranked(runtime, [job(), job(query="poison?"), job()])
    assert isinstance(good, Scores)
    assert isinstance(other, Scores)
    assert bad.cause is Cause.RUNTIME_UNAVAILABLE
    assert len(runtime.batches) == 4


async def test_a_timeout_is_not_tried_again():
    runtime = FakeRuntime(hang=True)
    outcomes = await ranked(runtime, [job(), job()], timeout=0.05)
    assert [outcome.cause for outcome in outcomes] == [Cause.RUNTIME_TIMEOUT] * 2
    assert (len(runtime.batches), runtime.aborted) == (1, 1)


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (RuntimeUnavailable("away"), Cause.RUNTIME_UNAVAILABLE),
        (RuntimeTimeout("slow"), Cause.RUNTIME_TIMEOUT),
        (RuntimeGarbage("odd"), Cause.RUNTIME_GARBAGE),
        (RuntimeMisconfigured("wrong"), Cause.RUNTIME_UNAVAILABLE),
    ],
)
async def test_every_fault_has_its_cause(fault, cause):
    (outcome,) = await ranked(FakeRuntime(fault=fault), [job()])
    assert outcome.cause is cause


async def test_too_few_answers_are_garbage_for_the_batch_and_for_each_alone():
    class Short(FakeRuntime):
        async def run(self, calls, *, timeout):
            return (await super().run(calls, timeout=timeout))[:-1]

    outcomes = await ranked(Short(), [job(), job()])
    assert [outcome.cause for outcome in outcomes] == [Cause.RUNTIME_GARBAGE] * 2


class Picky(Likelihood):
    """Raises what no strategy should, for one job."""

    def __init__(self, where):
        super().__init__(weight_en=1.0, weight_zh=1.0)
        self.where = where

    def calls(self, whole, laid):
        if self.where == "calls" and "poison" in whole.query:
            raise ZeroDivisionError(whole.query)
        return super().calls(whole, laid)

    def scores(self, whole, laid, answers):
        if self.where == "scores" and "poison" in whole.query:
            raise ZeroDivisionError(whole.query)
        return super().scores(whole, laid, answers)


@pytest.mark.parametrize("where", ["calls", "scores"])
async def test_a_job_that_makes_the_strategy_raise_falls_alone_and_its_text_is_not_logged(where, caplog):
    good, bad = await ranked(FakeRuntime(), [job(), job(query="poison xyzzy?")], strategy=Picky(where))
    assert isinstance(good, Scores)
    assert bad.cause is Cause.RANKER_ERROR
    assert "ZeroDivisionError" in caplog.text
    assert "xyzzy" not in caplog.text


@pytest.mark.parametrize("values", [(1.0,), (1.0,) * 7, (math.nan,) * 6, (math.inf,) * 6])
def test_only_one_finite_score_per_candidate_may_leave(values):
    ranker = local_ranker(FakeRuntime(), STRATEGY)
    with pytest.raises(RankFault) as caught:
        to_result(job(), Scores(values=values), ranker)
    assert caught.value.cause is Cause.RUNTIME_GARBAGE


def test_ties_keep_the_prefilters_order():
    whole = job(4, prior=(1.0, 4.0, 2.0, 3.0))
    result = to_result(whole, Scores(values=(0.5,) * 4), local_ranker(FakeRuntime(), STRATEGY))
    assert [place.id for place in result.ranking] == ["m1", "m3", "m2", "m0"]


async def test_the_same_batch_twice_gives_the_same_scores():
    jobs = [job(), job()]
    assert await ranked(FakeRuntime(), jobs) == await ranked(FakeRuntime(), jobs)
    assert Answer().logprobs == ()


async def test_a_result_tells_model_and_prompts_and_its_parts_where_they_are_asked_for():
    ranker = local_ranker(FakeRuntime(), STRATEGY)
    plain, explained = job(4), job(4, explain=True)
    outcomes = await ranker.rank([plain, explained], timeout=5.0)
    results = [
        to_result(one, scores, ranker) for one, scores in zip((plain, explained), outcomes, strict=True)
    ]
    for result in results:
        assert (result.model, result.prompt_version) == ("fake-model", ranker.prompt_version)
        assert result.prompt_version.startswith("likelihood-")
    assert results[0].fusion is None
    fusion = results[1].fusion
    assert fusion.weight == 1.0
    for place in results[1].ranking:
        assert place.score == pytest.approx(fusion.prior[place.id] + fusion.model[place.id])
