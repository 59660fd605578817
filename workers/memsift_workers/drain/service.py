"""The drain as a service: a thread with its own event loop, from warm-up to the last reply."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from redis.asyncio import Redis

from memsift_schemas.clock import ServerClock
from memsift_schemas.collector import collect_less_often
from memsift_schemas.redis_link import MEASURE_EVERY_S, REDIS_FAULTS, Pause, connect, end, measure, tell
from memsift_schemas.sealing import KeyRing
from memsift_schemas.settings import WorkerSettings
from memsift_workers.drain.batch import BatchHandler
from memsift_workers.drain.events import EventStream
from memsift_workers.drain.loop import DrainLoop
from memsift_workers.drain.presence import PRESENCE_EVERY_S, Presence
from memsift_workers.drain.taking import Taking
from memsift_workers.drain.warming import WarmUps
from memsift_workers.faults import describe
from memsift_workers.flow.limiter import Limiter
from memsift_workers.flow.limits import follow_latency, local_limit, shared_limit
from memsift_workers.flow.rescue import Rescue
from memsift_workers.flow.runtime_name import own_runtime
from memsift_workers.health import Health, Heartbeat
from memsift_workers.metering.metrics import Metrics, Watched
from memsift_workers.rankers.base import Ranker, Warmable, prompt_version
from memsift_workers.runtimes.base import RuntimeFault, RuntimeMisconfigured
from memsift_workers.shadow.copying import Copies
from memsift_workers.shadow.ranking import ShadowRanking

log = logging.getLogger("memsift.worker")

# Beside one per batch for its replies: the blocking pops, presence, clock, rescue, metrics, shadow mode.
SPARE_CONNECTIONS = 13


class DrainService:
    """Starts the rankers, then drains until it is told to stop.

    `on_failure` is called, on the drain's thread, when the drain has ended by an error: a worker without
    one would look alive and take no job. `failure` then holds the reason.
    """

    def __init__(
        self,
        *,
        settings: WorkerSettings,
        rankers: Sequence[Ranker],
        events: EventStream,
        hostname: str,
        on_failure: Callable[[], None],
        shadow: Ranker | None = None,
    ) -> None:
        self._settings = settings
        self._rankers = {ranker.name: ranker for ranker in rankers}
        self._shadow = shadow
        self._events = events
        self._hostname = hostname
        self._on_failure = on_failure
        self._clock = ServerClock()
        self._stop_requested = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._drain: DrainLoop | None = None
        self._thread = threading.Thread(target=self._main, name="memsift-drain", daemon=True)
        self.started = threading.Event()
        self.failure: Exception | None = None

    def start(self) -> None:
        """Begin; `started` is set once the first attempt to load the model has ended, well or badly."""
        self._events.start()
        self._thread.start()

    def take_no_more(self) -> None:
        """Leave what waits in Redis. Returns at once; safe in a signal handler."""
        self._stop_requested.set()
        drain, loop = self._drain, self._loop
        if drain is not None and loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just ended
                loop.call_soon_threadsafe(drain.stop)

    def stop(self) -> None:
        """Take nothing more and finish what is in flight. Blocks for the grace time at most."""
        self.take_no_more()
        self._thread.join(self._settings.shutdown_grace_s + 5)
        self._events.stop()

    def _main(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:  # noqa: BLE001  # told to Celery's thread, which ends the worker
            self.failure = error
            log.critical("the drain ended, and so does this worker: %s", describe(error))
            self._on_failure()
        finally:
            self.started.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        connections = self._settings.batches_in_flight + SPARE_CONNECTIONS
        redis = connect(
            self._settings.redis_url,
            client_name="memsift-worker",
            connections=connections,
            queue=self._settings.queue,
        )
        limiter = local_limit(self._settings)
        metrics = Metrics.start(self._settings)
        handler = BatchHandler(
            redis=redis,
            settings=self._settings,
            rankers=self._rankers,
            clock=self._clock,
            events=self._events,
            shared=shared_limit(self._settings, redis, self._clock, limiter),
            meter=metrics.meter if metrics else None,
        )
        follow_latency(self._settings, limiter, handler.times)
        rescue = self._rescue(redis)
        runtime = own_runtime(self._settings, self._hostname)
        presence = Presence(
            redis, self._settings.queue, hostname=self._hostname, clock=self._clock, runtime=runtime
        )
        drain = DrainLoop(
            taking=Taking(redis, self._settings.queue, runtime),
            settings=self._settings,
            handle=handler.handle,
            clock=self._clock,
            limiter=limiter,
            rescue=rescue,
        )
        warm_ups = WarmUps(
            redis,
            self._settings,
            handler=handler,
            rankers=self._rankers,
            clock=self._clock,
            runtime=runtime,
        )
        helpers: list[asyncio.Task[None]] = []
        if metrics is not None:
            watched = Watched(limiter, handler.health, self._clock)
            helpers.append(asyncio.create_task(metrics.watch(redis, watched)))
        try:
            await self._start_rankers(handler.health)
            await self._first_contact(redis)
            self._drain = drain
            if self._stop_requested.is_set():
                return
            collect_less_often()
            log.info("ready: jobs are taken from %s", self._settings.queue)
            if metrics is not None:
                metrics.tell(self._rankers[self._settings.ranker])
            helpers += [
                asyncio.create_task(self._be_present(presence, drain, handler, limiter)),
                asyncio.create_task(self._keep_time(redis)),
            ]
            if any(isinstance(ranker, Warmable) for ranker in self._rankers.values()):
                helpers.append(asyncio.create_task(warm_ups.run(resting=drain.stopping.is_set)))
            helpers += self._shadow_mode(redis, handler, drain)
            if rescue is not None:
                helpers.append(asyncio.create_task(rescue.keep_watch()))
            self.started.set()
            await drain.run()
        finally:
            await end(helpers)
            log.info("drained: %s", dict(sorted(handler.tally.items())))
            for ranker in (*self._rankers.values(), *([self._shadow] if self._shadow else [])):
                await ranker.close()
            await presence.leave()
            await redis.aclose()
            if metrics is not None:
                metrics.close()

    def _shadow_mode(self, redis: Redis, handler: BatchHandler, drain: DrainLoop) -> list[asyncio.Task[None]]:
        """Send copies, and rank them, as far as the settings ask for either."""
        if self._settings.shadow_share:
            handler.on_answered = Copies(redis, self._settings).offer
        if self._shadow is None:
            return []
        ranking = ShadowRanking(
            redis, self._settings, handler=handler, ranker=self._shadow, clock=self._clock
        )
        return [asyncio.create_task(ranking.run(resting=drain.stopping.is_set))]

    def _rescue(self, redis: Redis) -> Rescue | None:
        if not self._settings.rescue:
            return None
        ring = KeyRing.of(self._settings.seal_keys)
        return Rescue(redis, self._settings.queue, self._clock, ring=ring)

    async def _start_rankers(self, health: Health) -> None:
        """Load and warm every ranker; a runtime that is not there yet, or answers nonsense, is waited for.

        Raises:
            RuntimeMisconfigured: it can never work.
        """
        pause = Pause()
        waiting = list(self._rankers.values())
        while waiting and not self._stop_requested.is_set():
            try:
                await waiting[0].start()
                waiting.pop(0)
            except RuntimeMisconfigured:
                raise
            except RuntimeFault as fault:
                self.started.set()
                log.warning("no jobs are taken, the runtime cannot be used yet: %s", fault)
                health.away()
                await asyncio.sleep(pause.next())
        if not waiting:
            health.well()

    async def _first_contact(self, redis: Redis) -> None:
        """No job is judged by a clock that was never set by the server's."""
        pause = Pause()
        while not self._stop_requested.is_set():
            try:
                await measure(redis, self._clock)
            except REDIS_FAULTS as fault:
                self.started.set()
                log.warning("no jobs are taken, Redis is away (%s)", tell(fault))
                await asyncio.sleep(pause.next())
            else:
                return

    async def _keep_time(self, redis: Redis) -> None:
        while True:
            await asyncio.sleep(MEASURE_EVERY_S)
            with contextlib.suppress(*REDIS_FAULTS):
                await measure(redis, self._clock)

    async def _be_present(
        self, presence: Presence, drain: DrainLoop, handler: BatchHandler, limiter: Limiter
    ) -> None:
        """Until the drain stops: what is in flight then may take long, and nothing new is to be sent here."""
        heartbeat = Heartbeat(self._clock, {"queue": self._settings.queue, "ranker": self._settings.ranker})
        while not drain.stopping.is_set():
            with contextlib.suppress(*REDIS_FAULTS):
                await presence.tell(self._card(handler, limiter), fit=handler.health.is_fit)
                heartbeat.beat()
            await handler.quarantine.refresh()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PRESENCE_EVERY_S):
                    await drain.stopping.wait()
        await presence.leave()

    def _card(self, handler: BatchHandler, limiter: Limiter) -> dict[str, Any]:
        """Who this worker is, and what it can do just now: producers admit jobs by it."""
        return {
            "runtime": self._settings.runtime,
            "model": self._rankers[self._settings.ranker].model,
            "prompt_version": prompt_version(self._rankers[self._settings.ranker]),
            "strategy": self._settings.strategy,
            "ranker": self._settings.ranker,
            "serves": self._settings.served,
            "pid": os.getpid(),
            # None until there was more work than it could take: what small batches get done says nothing.
            "jobs_per_s": handler.load.jobs_per_s,
            "batch_ms": handler.times.median_ms(self._settings.ranker),
            "in_flight": limiter.in_flight,
            "limit": limiter.limit,
            "cache": handler.cache.as_dict(),
        }
