"""A first ranker prunes for the second; what the second did not see stays below, in the first's order."""

import pytest

from memsift_schemas import Cause
from memsift_workers.rankers.base import Parts, Ranker, RankFault, Scores, to_result
from memsift_workers.rankers.cascade import Cascade
from tests.samples import job


class Fixed:
    """Scores by a rule on the memory's number; refuses jobs whose query asks for it."""

    def __init__(self, name, rule, refuses="never"):
        self.name, self.model, self.rule, self.refuses = name, f"{name}-model", rule, refuses
        self.seen, self.started, self.closed, self.evidence = [], 0, 0, None

    async def start(self):
        self.started += 1

    async def close(self):
        self.closed += 1

    async def rank(self, jobs, *, timeout):
        self.seen += [[m.id for m in one.candidates] for one in jobs]
        return [
            RankFault(Cause.RUNTIME_GARBAGE)
            if self.refuses in one.query
            else self.scores([int(m.id[1:]) for m in one.candidates])
            for one in jobs
        ]

    def scores(self, numbers):
        evidence = tuple(map(self.evidence, numbers)) if self.evidence else None
        return Scores(values=tuple(map(self.rule, numbers)), evidence=evidence, prompt_tokens=5)


@pytest.fixture
def chain():
    first, second = Fixed("a", lambda n: -float(n)), Fixed("b", float, refuses="second")
    return first, second, Cascade(first, second, keep=3)


async def test_the_second_sees_the_best_of_the_first_and_decides_among_them(chain):
    first, second, cascade = chain
    whole = job(6)
    (scores,) = await cascade.rank([whole], timeout=1)
    assert (first.seen, second.seen) == ([[f"m{at}" for at in range(6)]], [["m0", "m1", "m2"]])
    ids = [place.id for place in to_result(whole, scores, cascade).ranking]
    assert ids == ["m2", "m1", "m0", "m3", "m4", "m5"]
    assert (cascade.name, cascade.model, scores.prompt_tokens) == ("a>b", "b-model", 10)
    assert isinstance(cascade, Ranker)


async def test_what_the_second_read_has_its_evidence_and_the_rest_has_less(chain):
    _, second, cascade = chain
    second.evidence = lambda n: n / 10
    whole = job(6)
    (scores,) = await cascade.rank([whole], timeout=1)
    assert scores.evidence[:3] == (0.0, 0.1, 0.2)
    assert scores.evidence[3] > scores.evidence[4] > scores.evidence[5]
    assert max(scores.evidence[3:]) < min(scores.evidence[:3])


async def test_a_second_without_evidence_of_its_own_has_its_scores_for_it(chain):
    *_, cascade = chain
    (scores,) = await cascade.rank([job(6)], timeout=1)
    assert scores.evidence[:3] == scores.values[:3] == (0.0, 1.0, 2.0)


async def test_a_job_that_one_cannot_rank_harms_no_other():
    first, second = Fixed("a", float, refuses="first"), Fixed("b", float, refuses="second")
    cascade = Cascade(first, second, keep=3)
    jobs = [job(), job(query="first?"), job(query="second?"), job()]
    outcomes = await cascade.rank(jobs, timeout=1)
    assert [isinstance(outcome, Scores) for outcome in outcomes] == [True, False, False, True]
    assert len(second.seen) == 3


async def test_chains_may_be_longer(chain):
    first, second, cascade = chain
    third = Fixed("c", lambda n: -float(n))
    whole = job(6)
    longer = Cascade(cascade, third, keep=2)
    (scores,) = await longer.rank([whole], timeout=1)
    assert third.seen == [["m1", "m2"]]
    assert [place.id for place in to_result(whole, scores, longer).ranking] == [
        "m1",
        "m2",
        "m0",
        "m3",
        "m4",
        "m5",
    ]
    await longer.start()
    await longer.close()
    assert [(one.started, one.closed) for one in (first, second, third)] == [(1, 1)] * 3


async def test_prompts_and_parts_are_told_by_the_places_of_the_whole_job(chain):
    _, second, cascade = chain
    second.prompt_version = "b-1"
    second.scores = lambda numbers: Scores(
        values=tuple(map(float, numbers)), parts=Parts(0.5, dict.fromkeys(range(3), 0.0), {0: 9.0, 2: 7.0})
    )
    whole = job(6, explain=True, candidates=job(6).candidates[::-1])
    (scores,) = await cascade.rank([whole], timeout=1)
    result = to_result(whole, scores, cascade)
    assert result.prompt_version == "b-1"
    # The first keeps m0, m1, m2, which stand last in this job, m2 before m0
    assert (result.fusion.weight, result.fusion.model) == (0.5, {"m2": 9.0, "m0": 7.0})
