"""The limits that a worker works under: what its settings ask for, and what an operator changes meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from redis.asyncio import Redis

from memsift_schemas import settings as settings_module
from memsift_schemas.clock import Clock
from memsift_schemas.errors import SettingsError
from memsift_schemas.ranker_names import asks_runtime
from memsift_schemas.settings import WorkerSettings
from memsift_workers.flow.adaptive import AdaptiveLimit
from memsift_workers.flow.limiter import Limiter
from memsift_workers.flow.load import Load, batches_at_capacity
from memsift_workers.flow.service_times import ServiceTimes
from memsift_workers.flow.shared_limit import SharedLimit, runtime_key

# What may change while a worker runs -> the setting whose bounds hold for it.
CHANGEABLE = {
    "batch_max": "batch_max",
    "batch_wait_ms": "batch_wait_ms",
    "concurrency": "runtime_concurrency",
}


@dataclass(slots=True)
class Limits:
    """What is in force now.

    Attributes:
        settings: what the worker was started with; the rest of it stays.
        batch_max: jobs that make a micro-batch full.
        batch_wait_ms: how long after the last one, while that is under way, another begins.
        concurrency: jobs that may be in the runtime at once, over all workers that share it.
        limiter: of the jobs of this process.
    """

    settings: WorkerSettings
    batch_max: int
    batch_wait_ms: float
    concurrency: int
    limiter: Limiter = field(init=False)

    def __post_init__(self) -> None:
        self.limiter = Limiter(self.jobs_at_once, batches=self.settings.batches_in_flight)

    @classmethod
    def of(cls, settings: WorkerSettings) -> Limits:
        """Those that the settings ask for."""
        return cls(settings, settings.batch_max, settings.batch_wait_ms, settings.runtime_concurrency)

    @property
    def jobs_at_once(self) -> int:
        """Jobs of this process; rankers without a runtime limit themselves and get what the batches hold."""
        all_batches = self.settings.batches_in_flight * self.batch_max
        return min(self.concurrency, all_batches) if self.settings.uses_runtime else all_batches

    @property
    def follow_latency(self) -> bool:
        """Whether the concurrency finds itself."""
        return self.settings.adaptive_concurrency and self.settings.uses_runtime

    def change(self, wanted: dict[str, Any], load: Load) -> None:
        """Put new values into force, all of them or none. Jobs that are too many now are let end.

        Args:
            wanted: some of `CHANGEABLE`, as numbers or text.
            load: measures what is done at capacity, which is another one now.

        Raises:
            SettingsError: one is unknown, no number, out of bounds, or has no effect here.
        """
        checked = self._checked(wanted)
        self.batch_max = checked.get("batch_max", self.batch_max)
        self.batch_wait_ms = checked.get("batch_wait_ms", self.batch_wait_ms)
        self.concurrency = checked.get("concurrency", self.concurrency)
        if not self.follow_latency:
            self.limiter.change(self.jobs_at_once)
        now = self.settings.model_copy(
            update={"batch_max": self.batch_max, "runtime_concurrency": self.concurrency}
        )
        load.capacity_is(batches_at_capacity(now))

    def as_dict(self) -> dict[str, Any]:
        """What is in force, for who asks; `jobs_at_once` follows from the others."""
        return {
            **{name: getattr(self, name) for name in CHANGEABLE},
            "batches_in_flight": self.settings.batches_in_flight,
            "jobs_at_once": self.limiter.limit,
            "follow_latency": self.follow_latency,
        }

    def _checked(self, wanted: dict[str, Any]) -> dict[str, Any]:
        if unknown := sorted(set(wanted) - set(CHANGEABLE)):
            raise SettingsError(f"{', '.join(unknown)}: can be changed are {', '.join(CHANGEABLE)}")
        if missing := sorted(name for name, one in wanted.items() if one is None):
            raise SettingsError(f"{', '.join(missing)}: must be a number")
        if "concurrency" in wanted and not self.settings.uses_runtime:
            raise SettingsError("concurrency: no ranker of this worker asks a runtime; change batch_max")
        if "concurrency" in wanted and self.follow_latency:
            raise SettingsError("concurrency: it follows the latency here (MEMSIFT_ADAPTIVE_CONCURRENCY)")
        read = settings_module.load(WorkerSettings, **{CHANGEABLE[name]: one for name, one in wanted.items()})
        return {name: getattr(read, CHANGEABLE[name]) for name in wanted}


def shared_limit(limits: Limits, redis: Redis, clock: Clock) -> SharedLimit | None:
    """The one of all workers on a server; an embedded runtime is its worker's own.

    When limits follow the latency, each worker's own measurement of the server is its word on the whole.
    """
    settings = limits.settings
    asked = settings.uses_runtime or asks_runtime(settings.shadow_ranker)
    if settings.runtime != "sglang" or not asked:
        return None
    key = runtime_key(settings.queue, settings.sglang_url)
    limit = (lambda: limits.limiter.limit) if limits.follow_latency else (lambda: limits.concurrency)
    return SharedLimit(redis, key, limit=limit, clock=clock)


def follow_latency(limits: Limits, times: ServiceTimes) -> None:
    """Let the local limit follow what the runtime's batches take, if the settings say so."""
    if not limits.follow_latency:
        return
    settings, limiter = limits.settings, limits.limiter
    most = min(settings.adaptive_max, settings.batches_in_flight * settings.batch_max)
    adaptive = AdaptiveLimit(limiter.limit, least=settings.adaptive_min, most=most)

    def listen(ranker: str, seconds: float) -> None:
        if asks_runtime(ranker):
            limiter.limit = adaptive.update(seconds, limiter.in_flight)

    times.listener = listen
