"""Warm-ups: a session's KV is computed while its worker has nothing else to do, and given up when it has."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from redis.asyncio import Redis

from memsift_schemas import message
from memsift_schemas.clock import Clock
from memsift_schemas.job import RerankJob
from memsift_schemas.keys import warm_key
from memsift_schemas.ranker_names import asks_runtime
from memsift_schemas.result import Cause
from memsift_schemas.sealing import KeyRing
from memsift_schemas.settings import WorkerSettings
from memsift_workers.drain.batch import BatchHandler
from memsift_workers.drain.delivery import Delivery, Poison, receive
from memsift_workers.drain.idle import take_when_idle
from memsift_workers.faults import describe
from memsift_workers.flow.shared_limit import Lease
from memsift_workers.rankers.base import Ranker, Warmable
from memsift_workers.runtimes.base import RuntimeCrashed

log = logging.getLogger("memsift.worker")


class WarmUps:
    """Takes one warm-up at a time, and only while its worker handles no batch.

    One that a batch meets under way is cancelled: a question is never behind it.

    Args:
        redis: the connection; the pop blocks one.
        settings: the worker's.
        handler: of its batches.
        rankers: all of them, by name.
        clock: the deadlines'.
        runtime: whose own list of warm-ups is popped too; see `own_runtime`.
    """

    def __init__(
        self,
        redis: Redis,
        settings: WorkerSettings,
        *,
        handler: BatchHandler,
        rankers: Mapping[str, Ranker],
        clock: Clock,
        runtime: str = "",
    ) -> None:
        self._redis = redis
        self._settings = settings
        self._rankers = rankers
        self._clock = clock
        self._ring = KeyRing.of(settings.seal_keys)
        self._handler = handler
        self._quarantine = handler.quarantine
        self._reporter = handler.reporter
        own = [warm_key(settings.queue, runtime)] if runtime else []
        self._lists = [*own, warm_key(settings.queue)]
        self._under_way: asyncio.Task[None] | None = None
        handler.on_work.append(self._give_way)

    async def run(self, *, resting: Callable[[], bool] = lambda: False) -> None:
        """Warm for ever; ends by being cancelled.

        Args:
            resting: whether nothing more is to be taken.
        """
        await take_when_idle(
            self._redis,
            self._lists,
            self.handle,
            is_busy=lambda: resting() or not self._handler.is_idle,
        )

    async def handle(self, item: bytes) -> None:
        """One list item. Nothing that it holds can make it raise."""
        now = self._clock.time()
        try:
            delivery = receive(
                item, queue=self._settings.queue, now=now, ring=self._ring, task=message.WARM_TASK_NAME
            )
        except Poison as poison:
            self._reporter.poison(poison.why, len(item))
            return
        self._reporter.received(delivery, now)
        ranker = self._ranker(delivery.job)
        if delivery.refused is Cause.EXPIRED:
            self._reporter.warmed(delivery, "dropped")
        elif delivery.job is None or ranker is None:
            self._reporter.warmed(delivery, "refused")
        elif self._quarantine.blames(delivery.job) or not self._handler.is_idle:
            self._reporter.warmed(delivery, "dropped")
        else:
            await self._enter(ranker, delivery, delivery.job)

    def _ranker(self, job: RerankJob | None) -> Warmable | None:
        ranker = self._rankers.get(job.ranker or self._settings.ranker) if job else None
        return ranker if isinstance(ranker, Warmable) else None

    async def _enter(self, ranker: Warmable, delivery: Delivery, job: RerankJob) -> None:
        """Warm if there is a place at once, in the runtime that workers share as well."""
        timeout = job.deadline - self._clock.time()
        lease: Lease | None = None
        if self._handler.shared is not None and asks_runtime(job.ranker or self._settings.ranker):
            lease = await self._handler.shared.enter_at_once(hold_s=timeout)
            if lease is None:
                self._reporter.warmed(delivery, "dropped")
                return
        try:
            if timeout <= 0 or not self._handler.is_idle:
                self._reporter.warmed(delivery, "dropped")
                return
            self._reporter.started(delivery)
            self._under_way = asyncio.create_task(self._warm(ranker, delivery, job, timeout))
            await asyncio.wait({self._under_way})
        finally:
            if self._under_way is not None:
                self._under_way.cancel()
                self._under_way = None
            if self._handler.shared is not None and lease is not None:
                await self._handler.shared.leave(lease)

    async def _warm(self, ranker: Warmable, delivery: Delivery, job: RerankJob, timeout: float) -> None:
        how = "dropped"
        try:
            async with asyncio.timeout(timeout):
                await ranker.warm([job], timeout=timeout)
            how = "warmed"
        except TimeoutError:
            pass
        except Exception as error:  # noqa: BLE001  # whatever a ranker does, the worker lives on
            how = "failed"
            log.warning("warm-up %s failed: %s", job.id, describe(error))
            if isinstance(error, RuntimeCrashed):
                await self._quarantine.blame(job)
        finally:
            self._reporter.warmed(delivery, how)

    def _give_way(self) -> None:
        if self._under_way is not None:
            self._under_way.cancel()
