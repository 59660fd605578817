"""Settings become limits: a runtime's own, its workers' together, and one that follows the latency."""

import asyncio

import pytest

from memsift_schemas import SettingsError, SystemClock
from memsift_schemas.settings import WorkerSettings
from memsift_workers.flow.limits import Limits, follow_latency, shared_limit
from memsift_workers.flow.load import Load
from memsift_workers.flow.service_times import ServiceTimes


def test_the_limit_counts_for_rankers_with_a_runtime_alone():
    def limit(**fields):
        return Limits.of(WorkerSettings(runtime_concurrency=24, **fields)).limiter.limit

    assert limit() == 24
    assert limit(ranker="jev") == 64
    assert limit(ranker="jev", also_serve="jev>local") == 24


async def test_only_a_server_is_shared_and_its_limit_is_the_setting(redis):
    def made(**fields):
        return shared_limit(Limits.of(WorkerSettings(**fields)), redis, SystemClock())

    assert made(runtime="embedded") is None
    assert made(runtime="sglang", ranker="jev") is None
    assert made(runtime="sglang", runtime_concurrency=200)._limit() == 200


def test_the_local_limit_follows_the_latency_only_when_asked(clock):
    for adaptive in (False, True):
        settings = WorkerSettings(adaptive_concurrency=adaptive, adaptive_min=4)
        limits, times = Limits.of(settings), ServiceTimes(clock)
        follow_latency(limits, times)
        limiter = limits.limiter
        limiter.in_flight = 24
        times.record("local", 0.1)
        for _ in range(30):
            limiter.in_flight = limiter.limit
            times.record("jev>local", 10.0)
            times.record("nox", 0.1)
        assert (limiter.limit < 24) is adaptive


def in_force(limits, clock, **wanted):
    """Change them; the error if it was refused."""
    try:
        limits.change(wanted, Load(clock, batches=1))
    except SettingsError as error:
        return str(error)
    return None


def test_limits_change_while_the_worker_runs(clock):
    # Given a worker whose sixteen jobs of batches exceed its runtime's ten
    limits = Limits.of(WorkerSettings(batch_max=4, batches_in_flight=4, runtime_concurrency=10))
    assert limits.limiter.limit == 10
    # When an operator raises the concurrency, as text from a command line, then the batches hold it back
    assert in_force(limits, clock, concurrency="100", batch_wait_ms="2.5") is None
    assert (limits.limiter.limit, limits.batch_wait_ms, limits.concurrency) == (16, 2.5, 100)
    # When the batches grow as well, then it is in force
    assert in_force(limits, clock, batch_max=50) is None
    assert limits.as_dict() == {
        "batch_max": 50,
        "batch_wait_ms": 2.5,
        "concurrency": 100,
        "batches_in_flight": 4,
        "jobs_at_once": 100,
        "follow_latency": False,
    }


@pytest.mark.parametrize(
    ("wanted", "named"),
    [
        ({"batch_max": 0}, "MEMSIFT_BATCH_MAX"),
        ({"batch_max": 5_000}, "MEMSIFT_BATCH_MAX"),
        ({"batch_max": "many"}, "MEMSIFT_BATCH_MAX"),
        ({"batch_wait_ms": float("nan")}, "MEMSIFT_BATCH_WAIT_MS"),
        ({"concurrency": -1}, "MEMSIFT_RUNTIME_CONCURRENCY"),
        ({"concurrency": None}, "concurrency: must be a number"),
        ({"batch_max": 8, "queue": "x"}, "queue: can be changed are batch_max, batch_wait_ms, concurrency"),
        ({"batch_max": 8, "concurrency": 0}, "MEMSIFT_RUNTIME_CONCURRENCY"),
    ],
)
def test_a_wrong_limit_is_refused_and_nothing_changes(clock, wanted, named):
    limits = Limits.of(WorkerSettings())
    before = limits.as_dict()
    assert named in in_force(limits, clock, **wanted)
    assert limits.as_dict() == before


def test_a_limit_that_would_have_no_effect_is_refused(clock):
    following = Limits.of(WorkerSettings(adaptive_concurrency=True))
    assert "MEMSIFT_ADAPTIVE_CONCURRENCY" in in_force(following, clock, concurrency=8)
    assert "no ranker" in in_force(Limits.of(WorkerSettings(ranker="jev")), clock, concurrency=8)


async def test_the_workers_share_of_a_server_follows_a_change(redis, clock):
    limits = Limits.of(WorkerSettings(runtime="sglang"))
    shared = shared_limit(limits, redis, SystemClock())
    assert in_force(limits, clock, concurrency=7) is None
    assert shared._limit() == 7


async def test_who_waits_for_room_gets_it_when_the_limit_rises(clock, eventually):
    limits = Limits.of(WorkerSettings(runtime_concurrency=1))
    assert await limits.limiter.take(16) == 1
    waiting = asyncio.create_task(limits.limiter.take(16))
    await asyncio.sleep(0)
    in_force(limits, clock, concurrency=5)
    await eventually(waiting.done)
    assert waiting.result() == 4
