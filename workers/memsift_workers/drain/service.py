"""The drain as a service: a thread with its own event loop, from warm-up to the last reply."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from redis.asyncio import Redis

from memsift_schemas.clock import ServerClock
from memsift_schemas.collector import collect_less_often
from memsift_schemas.redis_link import REDIS_FAULTS, connect, end
from memsift_schemas.sealing import KeyRing
from memsift_schemas.settings import WorkerSettings
from memsift_workers.drain.batch import BatchHandler
from memsift_workers.drain.beginning import Beginning, keep_time
from memsift_workers.drain.card import card
from memsift_workers.drain.events import EventStream
from memsift_workers.drain.loop import DrainLoop
from memsift_workers.drain.presence import PRESENCE_EVERY_S, Presence
from memsift_workers.drain.pulse import Pulse, watch_runtime
from memsift_workers.drain.steering import Steering
from memsift_workers.drain.taking import Taking
from memsift_workers.drain.warming import WarmUps
from memsift_workers.faults import describe
from memsift_workers.flow.limits import Limits, follow_latency, shared_limit
from memsift_workers.flow.rescue import Rescue
from memsift_workers.flow.runtime_name import own_runtime
from memsift_workers.health import Heartbeat
from memsift_workers.liveness import Stamps
from memsift_workers.metering.metrics import Metrics, Watched
from memsift_workers.rankers.base import Ranker, Warmable
from memsift_workers.shadow.copying import Copies
from memsift_workers.shadow.ranking import ShadowRanking

log = logging.getLogger("memsift.worker")

# Beside one per batch for its replies: the blocking pops, presence, clock, rescue, metrics, shadow mode.
SPARE_CONNECTIONS = 13
# A control command's answer is waited for a second by default; so long may the drain keep it.
STEER_S = 0.5

T = TypeVar("T")


class Unreachable(Exception):
    """The drain did not take what an operator wants of it. Says why."""


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
        self._steering: Steering | None = None
        self._thread = threading.Thread(target=self._main, name="memsift-drain", daemon=True)
        self.started = threading.Event()
        self.failure: Exception | None = None

    def start(self) -> None:
        """Begin; `started` is set once the first attempt to load the model has ended, well or badly."""
        self._events.start()
        self._thread.start()

    def steer(self, do: Callable[[Steering], Coroutine[Any, Any, T]]) -> T:
        """Have something done on the drain's event loop, from another thread.

        Args:
            do: what to do.

        Returns:
            Its result.

        Raises:
            Unreachable: the drain has not begun or has ended, or its loop is blocked; nothing was done.
            Exception: what `do` raised.
        """
        steering, loop = self._steering, self._loop
        if steering is None or loop is None:
            raise Unreachable("the drain has not begun")
        work = do(steering)
        try:
            doing = asyncio.run_coroutine_threadsafe(work, loop)
        except RuntimeError:
            work.close()
            raise Unreachable("the drain has ended") from None
        try:
            return doing.result(STEER_S)
        except TimeoutError:
            doing.cancel()
            raise Unreachable(f"the drain's event loop did not answer within {STEER_S:g} s") from None
        except CancelledError:
            raise Unreachable("the drain has ended") from None

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
        limits = Limits.of(self._settings)
        metrics = Metrics.start(self._settings)
        handler = BatchHandler(
            redis=redis,
            settings=self._settings,
            rankers=self._rankers,
            clock=self._clock,
            events=self._events,
            shared=shared_limit(limits, redis, self._clock),
            meter=metrics.meter if metrics else None,
        )
        follow_latency(limits, handler.times)
        rescue = self._rescue(redis)
        runtime = own_runtime(self._settings, self._hostname)
        presence = Presence(
            redis, self._settings.queue, hostname=self._hostname, clock=self._clock, runtime=runtime
        )
        drain = DrainLoop(
            taking=Taking(redis, self._settings.queue, runtime),
            limits=limits,
            handle=handler.handle,
            clock=self._clock,
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

        def told() -> dict[str, Any]:
            ranker = self._rankers[self._settings.ranker]
            return card(self._settings, ranker, handler=handler, limiter=limits.limiter, paused=drain.paused)

        self._steering = Steering(limits, redis, drain=drain, handler=handler, events=self._events, card=told)
        stamps = Stamps(self._hostname, self._settings.run_dir)
        pulse = Pulse(stamps, self._hostname, drain=drain, health=handler.health, clock=self._clock)
        watched = Watched(limits.limiter, handler.health, self._clock)
        helpers = [asyncio.create_task(pulse.run()), *_counting(metrics, redis, watched)]
        try:
            beginning = Beginning(self._stop_requested, self.started)
            await beginning.rankers(self._rankers.values(), handler.health)
            pulse.started()
            await beginning.clock(redis, self._clock)
            self._drain = drain
            if self._stop_requested.is_set():
                return
            collect_less_often()
            log.info("ready: jobs are taken from %s", self._settings.queue)
            if metrics is not None:
                metrics.tell(self._rankers[self._settings.ranker])
            helpers += [
                asyncio.create_task(self._be_present(presence, drain, handler, pulse, told)),
                asyncio.create_task(keep_time(redis, self._clock)),
                asyncio.create_task(watch_runtime(list(self._rankers.values()), handler.health)),
            ]
            if any(isinstance(ranker, Warmable) for ranker in self._rankers.values()):
                helpers.append(asyncio.create_task(warm_ups.run(resting=drain.is_resting)))
            helpers += self._shadow_mode(redis, handler, drain)
            if rescue is not None:
                helpers.append(asyncio.create_task(rescue.keep_watch()))
            self.started.set()
            await drain.run()
        finally:
            await end(helpers)
            pulse.end()
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
        return [asyncio.create_task(ranking.run(resting=drain.is_resting))]

    def _rescue(self, redis: Redis) -> Rescue | None:
        if not self._settings.rescue:
            return None
        ring = KeyRing.of(self._settings.seal_keys)
        return Rescue(redis, self._settings.queue, self._clock, ring=ring)

    async def _be_present(
        self,
        presence: Presence,
        drain: DrainLoop,
        handler: BatchHandler,
        pulse: Pulse,
        told: Callable[[], dict[str, Any]],
    ) -> None:
        """Until the drain stops: what is in flight then may take long, and nothing new is to be sent here."""
        heartbeat = Heartbeat(self._clock, {"queue": self._settings.queue, "ranker": self._settings.ranker})
        while not drain.stopping.is_set():
            drain.changed.clear()
            with contextlib.suppress(*REDIS_FAULTS):
                await presence.tell(told(), fit=handler.health.is_fit, paused=drain.paused)
                pulse.redis_answered()
                heartbeat.beat()
            await handler.quarantine.refresh()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PRESENCE_EVERY_S):
                    await drain.changed.wait()
        await presence.leave()


def _counting(metrics: Metrics | None, redis: Redis, watched: Watched) -> list[asyncio.Task[None]]:
    return [] if metrics is None else [asyncio.create_task(metrics.watch(redis, watched))]
