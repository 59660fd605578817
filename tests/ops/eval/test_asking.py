"""How questions are asked: of whom, how many at once, and what becomes of the answers."""

import asyncio

import pytest

from memsift_ops.datasets import load
from memsift_ops.errors import Failure
from memsift_ops.evaluation import asking
from memsift_ops.evaluation.asking import CpuClock
from tests.ops.eval.made_up import COUNT, SECRET, FakeReranker, write_set


@pytest.fixture
def asked(tmp_path):
    return load(write_set(tmp_path), "small", limit=None, seed=1)


async def ask(asked, ranker, *, reranker=None, concurrency=1, cpu=lambda: 0.0):
    found = []
    await asking.ask_ranker(
        reranker or FakeReranker(),
        ranker,
        "small",
        asked,
        concurrency=concurrency,
        cpu_seconds=cpu,
        done=found.append,
    )
    return found


async def test_a_ranking_is_the_rankers_and_a_fallback_only_a_cause(asked):
    found = {one.query: one for one in await ask(asked, "jev")}
    assert len(found) == COUNT
    assert found["q00"].ranking == ("small/m2", "small/m1", "small/m0", "small/m3")
    assert (found["q00"].rank_ms, found["q00"].cost_usd, found["q00"].cause) == (2.0, 0.0002, None)
    # Questions 1, 5 and 9 ask for note number 1.
    assert {key for key, one in found.items() if one.cause == "deadline"} == {"q01", "q05", "q09"}
    assert found["q01"].ranking == ()


async def test_the_prefilter_is_asked_without_a_ranker(asked):
    reranker, found = FakeReranker(), []
    await asking.ask_prefilter(reranker, "small", asked, found.append)
    assert {ranker for ranker, *_ in reranker.asked} == {None}
    assert found[0].ranking == ("small/m0", "small/m1", "small/m2", "small/m3")
    assert all(one.cause is None and one.rank_ms == 0.5 and one.cpu_ms >= 0 for one in found)


async def test_rankers_do_not_share_a_users_caches(asked):
    reranker = FakeReranker()
    await ask(asked[:1], "jev", reranker=reranker)
    await ask(asked[:1], "jev>local", reranker=reranker)
    users = [question["user"] for *_, question in reranker.asked]
    assert users == ["jev/small/p", "jev>local/small/p"]


async def test_a_ranker_that_nobody_serves_ends_the_run_with_the_remedy(asked):
    with pytest.raises(Failure, match="does not serve nox: start it with MEMSIFT_ALSO_SERVE=nox"):
        await ask(asked, "nox")


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_only_so_many_are_under_way(asked, concurrency):
    class Counting(FakeReranker):
        now = most = 0

        async def rerank(self, **question):
            Counting.now += 1
            Counting.most = max(Counting.most, Counting.now)
            await asyncio.sleep(0)
            Counting.now -= 1
            return await super().rerank(**question)

    found = await ask(asked, "jev", reranker=Counting(), concurrency=concurrency)
    assert Counting.most == concurrency
    assert {one.query for one in found} == {one.id for one in asked}


async def test_cpu_time_is_shared_out_without_loss(asked):
    readings = iter(range(100))
    found = await ask(asked, "jev", cpu=lambda: next(readings) / 1e3)
    assert sum(one.cpu_ms for one in found) == pytest.approx(COUNT)


def test_cpu_time_that_cannot_be_read_is_none():
    readings = iter([1.0, None, 2.0, 2.5])
    clock = CpuClock(lambda: next(readings))
    assert [clock.lap(), clock.lap(), clock.lap()] == [None, None, 500.0]


def test_missing_is_what_has_no_outcome(asked):
    done = {("small", "jev", one.id) for one in asked[1:]}
    (left,) = asking.missing({"small": asked}, ["jev"], done)
    assert left == ("small", "jev", asked[:1])
    assert asking.missing({"small": asked}, ["jev"], done | {("small", "jev", asked[0].id)}) == []


async def test_an_outcome_holds_no_text(asked):
    found = await ask(asked, "jev")
    assert all(SECRET.split(" &")[0] not in one.model_dump_json() + repr(one) for one in found)
