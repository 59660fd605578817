"""A worker's `/metrics`: what its batches count, and once a second what is so just now."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Self

from redis.asyncio import Redis

from memsift_schemas.clock import ServerClock
from memsift_schemas.metrics import catalogue
from memsift_schemas.metrics.instruments import Instruments, release
from memsift_schemas.metrics.serving import MetricsServer, own_registry
from memsift_schemas.metrics.shared import QUEUE_LIST, Shared, SharedView
from memsift_schemas.redis_link import REDIS_FAULTS
from memsift_schemas.settings import WorkerSettings
from memsift_workers.flow.limiter import Limiter
from memsift_workers.health import Health
from memsift_workers.metering.look import Look, Seen
from memsift_workers.metering.meter import BatchMeter
from memsift_workers.rankers.base import Ranker, prompt_version

LOOK_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Watched:
    """What a worker knows of itself."""

    limiter: Limiter
    health: Health
    clock: ServerClock


class Metrics:
    """Counts and serves until it is closed.

    Attributes:
        meter: counts batches.
        server: `/metrics`.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        registry = own_registry()
        self._settings = settings
        self._instruments = Instruments((*catalogue.SHARED, *catalogue.WORKER), registry)
        self._view = SharedView(self._instruments, settings.queue)
        self.meter = BatchMeter(self._instruments, settings)
        self.server = MetricsServer(registry, host=settings.metrics_host, port=settings.metrics_port)

    @classmethod
    def start(cls, settings: WorkerSettings) -> Self | None:
        """Start where a port is set, else None.

        Raises:
            SettingsError: it cannot be served there, or a package is missing.
        """
        return cls(settings) if settings.metrics_port else None

    def tell(self, ranker: Ranker) -> None:
        """Say what this worker is; known once its default ranker has started."""
        settings = self._settings
        self._instruments.show(
            catalogue.WORKER_INFO,
            1,
            release(),
            ranker.name,
            settings.strategy,
            prompt_version(ranker),
            settings.runtime,
            ranker.model,
        )

    async def watch(self, redis: Redis, watched: Watched) -> None:
        """Show once a second what is so just now, for ever; ends by being cancelled."""
        look = Look(redis, self._settings.queue, watched.clock)
        while True:
            began = watched.clock.monotonic()
            try:
                seen = await look.once()
            except REDIS_FAULTS:
                self._view.lost()
            else:
                self._show(seen, watched.clock.monotonic() - began, watched.clock.time())
            self._show_own(watched)
            await asyncio.sleep(LOOK_EVERY_S)

    def close(self) -> None:
        """Serve no more."""
        self.server.close()

    def _show_own(self, watched: Watched) -> None:
        show = self._instruments.show
        show(catalogue.LIMIT, watched.limiter.limit)
        show(catalogue.FIT, watched.health.is_fit)
        show(catalogue.CLOCK_SKEW, watched.clock.skew_s)

    def _show(self, seen: Seen, seconds: float, now: float) -> None:
        lists = {QUEUE_LIST: seen.queue, **seen.own}
        self._view.saw(Shared(lists, seen.workers, seen.breaker_open, now, seconds))
        if seen.memory_used is not None and seen.memory_limit is not None:
            self._instruments.show(catalogue.REDIS_MEMORY, seen.memory_used)
            self._instruments.show(catalogue.REDIS_MEMORY_LIMIT, seen.memory_limit)
