"""Ranks copies by the shadow ranker while its worker has nothing else to do, and gives up when it has."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any

from redis.asyncio import Redis

from memsift_schemas.clock import Clock
from memsift_schemas.errors import InvalidInput
from memsift_schemas.keys import shadow_key, shadow_tally_key
from memsift_schemas.ranker_names import asks_runtime
from memsift_schemas.redis_link import REDIS_FAULTS, Pause
from memsift_schemas.result import Cause
from memsift_schemas.sealing import KeyRing
from memsift_schemas.settings import WorkerSettings
from memsift_workers.drain.batch import BatchHandler
from memsift_workers.drain.idle import take_when_idle
from memsift_workers.faults import describe
from memsift_workers.flow.shared_limit import Lease
from memsift_workers.rankers.base import Outcome, Ranker, RankFault, to_result
from memsift_workers.runtimes.base import RuntimeFault, RuntimeMisconfigured
from memsift_workers.shadow import tally
from memsift_workers.shadow.agreement import agreement
from memsift_workers.shadow.copying import Copy, decode

log = logging.getLogger("memsift.worker")

# No copy takes longer than this; the dearest rankers answer within seconds.
RANK_S = 30.0
# After a failure the shadow rests, the longer the more fail in a row, so that it cannot wear a runtime out.
FIRST_REST_S, LONGEST_REST_S = 0.5, 60.0


class ShadowRanking:
    """Takes one copy at a time, and only while its worker handles no batch.

    One that a batch meets under way is cancelled: a question is never behind it. Whatever the shadow ranker
    does, jobs, health, limits and service times of the worker know nothing of it.

    Args:
        redis: the connection; the pop blocks one.
        settings: the worker's.
        handler: of its batches.
        ranker: the shadow's.
        clock: for its times.
    """

    def __init__(
        self, redis: Redis, settings: WorkerSettings, *, handler: BatchHandler, ranker: Ranker, clock: Clock
    ) -> None:
        self._redis = redis
        self._handler = handler
        self._ranker = ranker
        self._clock = clock
        self._ring = KeyRing.of(settings.seal_keys)
        queue = settings.shadow_queue or settings.queue
        self._list = shadow_key(queue)
        self._tally = shadow_tally_key(queue)
        self._asks_runtime = asks_runtime(ranker.name)
        self._under_way: asyncio.Task[Outcome] | None = None
        self._rest_s = FIRST_REST_S
        handler.on_work.append(self._give_way)

    async def run(self, *, resting: Callable[[], bool] = lambda: False) -> None:
        """Rank copies for ever; ends by being cancelled, or when the ranker can never work.

        Args:
            resting: whether nothing more is to be taken.
        """
        if await self._started():
            await take_when_idle(
                self._redis,
                [self._list],
                self.handle,
                is_busy=lambda: resting() or not self._handler.is_idle,
            )

    async def handle(self, item: bytes) -> None:
        """One list item. Nothing that it holds, and nothing that the ranker does, can make it raise.

        Raises:
            RedisError: what became of it could not be counted.
        """
        try:
            copy = decode(item, self._ring)
        except InvalidInput as error:
            log.warning("dropped a copy for the shadow ranker that cannot be read: %s", error)
            await self._count(tally.count, tally.UNREADABLE)
            return
        began = self._clock.monotonic()
        outcome = await self._rank(copy)
        shadow_ms = (self._clock.monotonic() - began) * 1e3
        if outcome is None:
            await self._count(tally.count, tally.GAVE_WAY)
        else:
            await self._conclude(copy, outcome, shadow_ms)

    async def _rank(self, copy: Copy) -> Outcome | None:
        """None where a batch came first, or the runtime has no place."""
        lease: Lease | None = None
        shared = self._handler.shared if self._asks_runtime else None
        if shared is not None:
            lease = await shared.enter_at_once(hold_s=RANK_S)
            if lease is None:
                return None
        try:
            if not self._handler.is_idle:
                return None
            self._under_way = asyncio.create_task(self._outcome(copy))
            done, _ = await asyncio.wait({self._under_way}, timeout=RANK_S)
            if not done:
                return await self._hung(self._under_way)
            return None if self._under_way.cancelled() else self._under_way.result()
        finally:
            if self._under_way is not None:
                self._under_way.cancel()
                self._under_way = None
            if shared is not None and lease is not None:
                await shared.leave(lease)

    async def _outcome(self, copy: Copy) -> Outcome:
        try:
            outcomes = await self._ranker.rank([copy.job], timeout=RANK_S)
            (outcome,) = outcomes
        except Exception as error:  # noqa: BLE001  # whatever a ranker does, the worker lives on
            log.warning("the shadow ranker raised: %s", describe(error))
            return RankFault(Cause.RANKER_ERROR)
        return outcome

    async def _hung(self, task: asyncio.Task[Outcome]) -> Outcome:
        """A ranker that does not keep to its time: told to stop, and no other copy begins before it has."""
        task.cancel()
        while not task.done():
            log.warning("the shadow ranker does not stop: no copies are taken")
            await asyncio.wait({task}, timeout=LONGEST_REST_S)
        with contextlib.suppress(asyncio.CancelledError):
            task.result()
        return RankFault(Cause.RUNTIME_TIMEOUT)

    async def _conclude(self, copy: Copy, outcome: Outcome, shadow_ms: float) -> None:
        try:
            if isinstance(outcome, RankFault):
                raise outcome
            shadow = to_result(copy.job, outcome, self._ranker)
            found = agreement(
                [place.id for place in copy.live.ranking],
                [place.id for place in shadow.ranking],
                top_k=copy.job.top_k,
            )
        except (RankFault, ValueError) as fault:
            cause = fault.cause if isinstance(fault, RankFault) else Cause.INVALID_REPLY
            await self._count(tally.fail, cause.value)
            await asyncio.sleep(self._rest_s)
            self._rest_s = min(self._rest_s * 2, LONGEST_REST_S)
            return
        self._rest_s = FIRST_REST_S
        pair = tally.Pair(tally.who(copy.live), tally.who(shadow))
        pipeline = self._redis.pipeline(transaction=False)
        live_ms = copy.live.timings_ms.get("rank")
        tally.compare(pipeline, self._tally, pair, found, live_ms=live_ms, shadow_ms=shadow_ms)
        await pipeline.execute()

    async def _count(self, add: Callable[[Any, str, str], None], what: str) -> None:
        pipeline = self._redis.pipeline(transaction=False)
        add(pipeline, self._tally, what)
        await pipeline.execute()

    async def _started(self) -> bool:
        """Load the ranker; jobs do not wait for it. The log says so of one that can never work."""
        pause = Pause()
        while True:
            try:
                await self._ranker.start()
            except RuntimeMisconfigured as fault:
                log.error("shadow mode is off, jobs go on: %s", fault)
                with contextlib.suppress(*REDIS_FAULTS):
                    await self._count(tally.fail, tally.MISCONFIGURED)
                return False
            except RuntimeFault as fault:
                log.warning("the shadow ranker cannot be used yet: %s", fault)
            except Exception as error:  # noqa: BLE001  # whatever a ranker does, the worker lives on
                log.error("shadow mode is off, jobs go on: %s", describe(error))
                return False
            else:
                log.info("shadow mode: %s ranks copies", self._ranker.name)
                return True
            await asyncio.sleep(pause.next())

    def _give_way(self) -> None:
        if self._under_way is not None:
            self._under_way.cancel()
