"""What a worker waits for before it takes jobs: its rankers, and the time on the Redis server's clock."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass

from redis.asyncio import Redis

from memsift_schemas.clock import ServerClock
from memsift_schemas.getting_ready import get_ready
from memsift_schemas.redis_link import MEASURE_EVERY_S, REDIS_FAULTS, Pause, measure, tell
from memsift_workers.health import Health
from memsift_workers.rankers.base import Ranker
from memsift_workers.runtimes.base import RuntimeFault, RuntimeMisconfigured

log = logging.getLogger("memsift.worker")


@dataclass(frozen=True, slots=True)
class Beginning:
    """Each step is tried until it works or the worker is to stop.

    Attributes:
        stop: set when the worker is to stop.
        tried: set once a step has failed for the first time: nobody need wait for the worker any more.
    """

    stop: threading.Event
    tried: threading.Event

    async def rankers(self, rankers: Iterable[Ranker], health: Health) -> None:
        """Load and warm every ranker; a runtime that is not there yet, or answers nonsense, is waited for.

        Raises:
            RuntimeMisconfigured: it can never work.
        """
        get_ready()
        pause = Pause()
        waiting = list(rankers)
        while waiting and not self.stop.is_set():
            try:
                await waiting[0].start()
                waiting.pop(0)
            except RuntimeMisconfigured:
                raise
            except RuntimeFault as fault:
                self.tried.set()
                log.warning("no jobs are taken, the runtime cannot be used yet: %s", fault)
                health.away()
                await asyncio.sleep(pause.next())
        if not waiting:
            health.well()

    async def clock(self, redis: Redis, clock: ServerClock) -> None:
        """No job is judged by a clock that was never set by the server's."""
        pause = Pause()
        while not self.stop.is_set():
            try:
                await measure(redis, clock)
            except REDIS_FAULTS as fault:
                self.tried.set()
                log.warning("no jobs are taken, Redis is away (%s)", tell(fault))
                await asyncio.sleep(pause.next())
            else:
                return


async def keep_time(redis: Redis, clock: ServerClock) -> None:
    """Set the clock again and again, for ever; ends by being cancelled."""
    while True:
        await asyncio.sleep(MEASURE_EVERY_S)
        with contextlib.suppress(*REDIS_FAULTS):
            await measure(redis, clock)
