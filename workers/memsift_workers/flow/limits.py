"""Which limits a worker's settings ask for."""

from __future__ import annotations

from redis.asyncio import Redis

from memsift_schemas.clock import Clock
from memsift_schemas.settings import WorkerSettings, asks_runtime
from memsift_workers.flow.adaptive import AdaptiveLimit
from memsift_workers.flow.limiter import Limiter
from memsift_workers.flow.service_times import ServiceTimes
from memsift_workers.flow.shared_limit import SharedLimit, runtime_key


def local_limit(settings: WorkerSettings) -> Limiter:
    """This process's own; rankers without a runtime limit themselves and get what the batches hold."""
    all_batches = settings.batches_in_flight * settings.batch_max
    limit = min(settings.runtime_concurrency, all_batches) if settings.uses_runtime else all_batches
    return Limiter(limit, batches=settings.batches_in_flight)


def shared_limit(settings: WorkerSettings, redis: Redis, clock: Clock, local: Limiter) -> SharedLimit | None:
    """The one of all workers on a server; an embedded runtime is its worker's own.

    When limits follow the latency, each worker's own measurement of the server is its word on the whole.
    """
    asked = settings.uses_runtime or asks_runtime(settings.shadow_ranker)
    if settings.runtime != "sglang" or not asked:
        return None
    key = runtime_key(settings.queue, settings.sglang_url)
    adaptive = settings.adaptive_concurrency
    limit = (lambda: local.limit) if adaptive else (lambda: settings.runtime_concurrency)
    return SharedLimit(redis, key, limit=limit, clock=clock)


def follow_latency(settings: WorkerSettings, limiter: Limiter, times: ServiceTimes) -> None:
    """Let the local limit follow what the runtime's batches take, if the settings say so."""
    if not (settings.adaptive_concurrency and settings.uses_runtime):
        return
    most = min(settings.adaptive_max, settings.batches_in_flight * settings.batch_max)
    adaptive = AdaptiveLimit(limiter.limit, least=settings.adaptive_min, most=most)

    def listen(ranker: str, seconds: float) -> None:
        if asks_runtime(ranker):
            limiter.limit = adaptive.update(seconds, limiter.in_flight)

    times.listener = listen
