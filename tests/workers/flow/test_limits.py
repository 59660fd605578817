"""Settings become limits: a runtime's own, its workers' together, and one that follows the latency."""

from memsift_schemas import SystemClock, WorkerSettings
from memsift_workers.flow.limits import Limits, follow_latency, shared_limit
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
