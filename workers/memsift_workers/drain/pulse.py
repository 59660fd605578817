"""The drain's sign of life for `memsift healthcheck`, and what it knows of Redis and the runtime."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Sequence

from memsift_schemas.clock import Clock
from memsift_workers.drain.loop import DrainLoop
from memsift_workers.health import Health
from memsift_workers.liveness import Stamp, Stamps
from memsift_workers.rankers.base import Ranker
from memsift_workers.runtimes.base import Reachable, RuntimeFault

log = logging.getLogger("memsift.worker")

BEAT_S = 1.0
# The card is written once a second; one that was not for so long says that Redis is away.
REDIS_FRESH_S = 3.0
# A worker without jobs asks its runtime this often whether it is there, and waits this long.
REACH_EVERY_S, REACH_S = 5.0, 2.0


class Pulse:
    """Beats on the drain's own event loop: what blocks the loop stops it.

    Args:
        stamps: where it is left.
        worker: the worker's name.
        drain: must turn for a beat to count.
        health: what jobs tell of the runtime.
        clock: for the age of what is known.
    """

    def __init__(
        self, stamps: Stamps, worker: str, *, drain: DrainLoop, health: Health, clock: Clock
    ) -> None:
        self._stamps = stamps
        self._worker = worker
        self._drain = drain
        self._health = health
        self._clock = clock
        self._started = False
        self._redis_at = float("-inf")
        self._beat = 0.0
        self._told = False

    def started(self) -> None:
        """The model is warm."""
        self._started = True

    def redis_answered(self) -> None:
        """The card was written."""
        self._redis_at = self._clock.monotonic()

    def waits_for(self) -> tuple[str, ...]:
        """Why the worker is not ready; empty when it is."""
        lacks = {
            "start": not self._started,
            "redis": self._clock.monotonic() - self._redis_at > REDIS_FRESH_S,
            "runtime": not self._health.is_ready,
            "stop": self._drain.stopping.is_set(),
        }
        return tuple(name for name, lacking in lacks.items() if lacking)

    async def run(self) -> None:
        """Beat for ever; ends by being cancelled."""
        while True:
            self.beat()
            await asyncio.sleep(BEAT_S)

    def beat(self) -> None:
        """Leave a stamp; an old one where the drain does not turn."""
        if self._drain.is_turning:
            # Not the injected clock: another process compares.
            self._beat = time.monotonic()
        waits_for = self.waits_for()
        stamp = Stamp(
            self._worker,
            os.getpid(),
            self._beat,
            ready=not waits_for,
            waits_for=waits_for,
            paused=self._drain.paused,
        )
        try:
            self._stamps.write(stamp)
        except OSError as error:
            if not self._told:
                self._told = True
                log.warning("no heartbeat for `memsift healthcheck` (%s): set MEMSIFT_RUN_DIR", error)

    def end(self) -> None:
        """The worker ends in good order."""
        self._stamps.remove()


async def watch_runtime(rankers: Sequence[Ranker], health: Health) -> None:
    """Ask servers whether they are there while no job tells, for ever.

    Args:
        rankers: those that are `Reachable` are asked.
        health: is told.
    """
    asked = [ranker for ranker in rankers if isinstance(ranker, Reachable)]
    while asked:
        await asyncio.sleep(REACH_EVERY_S)
        if health.answered_s >= REACH_EVERY_S:
            health.probed(reachable=await _reachable(asked))


async def _reachable(asked: Sequence[Reachable]) -> bool:
    try:
        async with asyncio.timeout(REACH_S):
            for ranker in asked:
                await ranker.reach()
    except (RuntimeFault, TimeoutError):
        return False
    return True
