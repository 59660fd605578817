"""The ranker with Redis there, away, and hanging: a ranking each time, and no job harms another."""

import asyncio
import logging

import numpy as np
import pytest

from memsift_schemas import Cause
from memsift_schemas.settings import WorkerSettings
from memsift_workers.assembly import build_rankers
from memsift_workers.rankers.base import Ranker, Scores, to_result
from memsift_workers.rankers.jev import JevRanker, features, weights
from tests.samples import job, memories, memory

NOBODY = "redis://127.0.0.1:1/0"


@pytest.fixture
async def make():
    rankers = []

    async def start(url, **options):
        ranker = JevRanker(WorkerSettings(redis_url=url, **options))
        rankers.append(ranker)
        await ranker.start()
        return ranker

    yield start
    for ranker in rankers:
        await ranker.close()


@pytest.fixture
async def silent():
    """A server that takes connections and says nothing."""
    accepted = []

    async def accept(reader, writer):
        accepted.append(writer)
        await reader.read()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0", accepted
    for writer in accepted:
        writer.close()
    server.close()


async def alone(whole, **options):
    """The scores without any counts."""
    return tuple(np.round(features(whole) @ weights(WorkerSettings(**options)), 9).tolist())


def test_the_settings_name_it():
    (ranker,) = build_rankers(WorkerSettings(ranker="jev"))
    assert isinstance(ranker, JevRanker)
    assert isinstance(ranker, Ranker)


async def test_it_ranks_and_counts_and_then_knows(make, valkey_url, redis, queue, eventually):
    ranker = await make(valkey_url, queue=queue)
    whole = job()
    (first,) = await ranker.rank([whole], timeout=5)
    ranking = to_result(whole, first, ranker).ranking
    assert ranking[0].id == "m0"  # the spare key is under the flowerpot
    # The counting goes on behind the answer
    await eventually(lambda: not ranker._writes)
    assert await redis.exists(*[key async for key in redis.scan_iter(f"{queue}:jev:*")]) == 2
    # When the same job comes again, Then it scores the same, as nothing else was learned
    (second,) = await ranker.rank([whole], timeout=5)
    assert second == first
    # When others of the user have passed, Then a term's rarity is that of all
    others = tuple(memory(at, text=f"Mara lost a key, number {at}.") for at in range(20, 60))
    await ranker.rank([job(candidates=others, prior=())], timeout=5)
    await eventually(lambda: not ranker._writes)
    (third,) = await ranker.rank([whole], timeout=5)
    assert third != first


@pytest.mark.parametrize("options", [{"redis_url": NOBODY}, {"jev_idf_memories": 0, "redis_url": NOBODY}])
async def test_without_redis_the_candidates_tell(make, options, caplog):
    url = options.pop("redis_url")
    ranker = await make(url, **options)
    jobs = [job(), job(query="Who moved to Trieste?")]
    with caplog.at_level(logging.WARNING):
        outcomes = await ranker.rank(jobs, timeout=5)
    assert [one.values for one in outcomes] == [await alone(one) for one in jobs]
    assert not [one for one in caplog.records if "cabin" in one.getMessage() or "Trieste" in one.getMessage()]


async def test_a_redis_that_hangs_is_given_up_and_left_alone_for_a_while(make, silent):
    url, accepted = silent
    ranker = await make(url)
    whole = job()
    for _ in range(2):
        (outcome,) = await ranker.rank([whole], timeout=5)
        assert outcome.values == await alone(whole)
        assert ranker._away_until > 0
    ranker._away_until = float("inf")
    before = len(accepted)
    await ranker.rank([whole], timeout=5)
    assert len(accepted) == before


async def test_what_redis_answers_wrongly_is_no_answer(make, valkey_url, redis, queue):
    # Given that the keys hold something else
    ranker = await make(valkey_url, queue=queue)
    whole = job()
    for key in ranker._store._keys(whole.user):
        await redis.set(key, "something else")
    (outcome,) = await ranker.rank([whole], timeout=5)
    assert outcome.values == await alone(whole)


async def test_a_job_whose_time_is_over_gets_a_fault(make):
    ranker = await make(NOBODY)
    (outcome,) = await ranker.rank([job()], timeout=-1)
    assert outcome.cause is Cause.RUNTIME_TIMEOUT


async def test_a_job_that_cannot_be_scored_harms_no_other(make):
    ranker = await make(NOBODY)
    broken = job().model_copy(update={"now": None})
    first, second, third = await ranker.rank([job(), broken, job()], timeout=5)
    assert isinstance(first, Scores)
    assert isinstance(third, Scores)
    assert second.cause is Cause.RANKER_ERROR


async def test_a_batch_of_many_users_is_one_read_and_one_write(make, valkey_url, queue, redis, eventually):
    ranker = await make(valkey_url, queue=queue)
    jobs = [job(user=f"u{at}", candidates=tuple(memories(50)), prior=()) for at in range(16)]
    outcomes = await ranker.rank(jobs, timeout=5)
    assert all(len(one.values) == 50 for one in outcomes)
    await eventually(lambda: not ranker._writes)
    assert len([key async for key in redis.scan_iter(f"{queue}:jev:*")]) == 32
