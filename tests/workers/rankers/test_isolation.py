"""After a crash: the job that a healthy runtime died of alone is blamed, and nobody else."""

import pytest

from memsift_schemas import Cause
from memsift_workers.rankers.base import RankFault, Scores
from memsift_workers.runtimes.base import RuntimeCrashed, RuntimeUnavailable
from memsift_workers.strategies.likelihood import Likelihood
from tests.fakes import FakeRuntime, local_ranker
from tests.samples import job


@pytest.fixture
def rank():
    async def run(fault, jobs, timeout=5.0):
        runtime = FakeRuntime(fault=fault)
        ranker = local_ranker(runtime, Likelihood(weight_en=1.0, weight_zh=1.0))
        return await ranker.rank(jobs, timeout=timeout), runtime

    return run


class Dies:
    """Breaks the connection at a prompt with the word, and is away for some requests after that."""

    def __init__(self, away=0):
        self.away, self.left, self.crashes = away, 0, 0

    def __call__(self, calls):
        if self.left:
            self.left -= 1
            return RuntimeUnavailable("refused")
        if any("boom" in call.suffix for call in calls):
            self.crashes += 1
            self.left = self.away
            return RuntimeCrashed("broken")
        return None


async def test_the_job_that_breaks_a_healthy_runtime_is_blamed_and_its_mates_are_ranked(rank):
    jobs = [job(), job(query="boom?"), job()]
    outcomes, _ = await rank(Dies(away=2), jobs)
    assert isinstance(outcomes[0], Scores)
    assert isinstance(outcomes[2], Scores)
    assert (outcomes[1].cause, outcomes[1].blamed) == (Cause.RUNTIME_UNAVAILABLE, True)


async def test_nobody_is_blamed_for_a_server_that_went_down(rank):
    state = {"first": True}

    def down(calls):
        if state.pop("first", False):
            return RuntimeCrashed("broken")
        return RuntimeUnavailable("refused")

    outcomes, _ = await rank(down, [job(), job()], timeout=0.3)
    assert [(one.cause, one.blamed) for one in outcomes] == [(Cause.RUNTIME_UNAVAILABLE, False)] * 2


async def test_a_lone_job_whose_connection_broke_by_chance_is_ranked(rank):
    state = {"first": True}
    outcomes, _ = await rank(lambda _: RuntimeCrashed("broken") if state.pop("first", 0) else None, [job()])
    assert isinstance(outcomes[0], Scores)


async def test_a_lone_job_that_breaks_it_again_is_blamed(rank):
    outcomes, _ = await rank(Dies(), [job(query="boom?")])
    assert isinstance(outcomes[0], RankFault)
    assert outcomes[0].blamed
