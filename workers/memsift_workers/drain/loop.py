"""The drain loop: a slot, a pop, a short top-up, a batch."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from redis.asyncio import Redis

from memsift_schemas.clock import Clock
from memsift_schemas.redis_link import BLOCK_S, REDIS_FAULTS, Pause, end
from memsift_schemas.settings import WorkerSettings
from memsift_workers.faults import describe

log = logging.getLogger("memsift.worker")

Handle = Callable[[Sequence[bytes], float], Awaitable[None]]


class DrainLoop:
    """Pops micro-batches and hands each to `handle`, several at once.

    A slot is taken before anything is popped: what cannot be worked on stays in Redis, where another
    worker can have it. A pop is never cancelled, or what it popped would be lost.
    """

    def __init__(self, *, redis: Redis, settings: WorkerSettings, handle: Handle, clock: Clock) -> None:
        self._redis = redis
        self._settings = settings
        self._handle = handle
        self._clock = clock
        self._slots = asyncio.Semaphore(settings.batches_in_flight)
        self._batches: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Take nothing more; `run` returns when what is in flight has ended."""
        self._stopping.set()

    async def run(self) -> None:
        """Drain until `stop`, then wait for the batches in flight, at most the grace time."""
        pause = Pause()
        while not self._stopping.is_set():
            await self._slots.acquire()
            try:
                items = await self._pop()
            except REDIS_FAULTS as fault:
                self._slots.release()
                seconds = pause.next()
                log.warning("Redis is away (%s): next try in %.2g s", type(fault).__name__, seconds)
                await self._rest(seconds)
                continue
            pause.reset()
            if not items:
                self._slots.release()
                continue
            task = asyncio.create_task(self._work(items))
            self._batches.add(task)
            task.add_done_callback(self._batches.discard)
        await self._finish()

    async def _pop(self) -> list[bytes]:
        most = self._settings.batch_max
        if self._stopping.is_set():
            return []
        popped = await self._redis.blmpop(BLOCK_S, 1, self._settings.queue, direction="RIGHT", count=most)
        items: list[bytes] = _items(popped)
        if items and len(items) < most and self._settings.batch_wait_ms:
            await asyncio.sleep(self._settings.batch_wait_ms / 1e3)
            items += await self._top_up(most - len(items))
        return items

    async def _top_up(self, most: int) -> list[bytes]:
        try:
            popped = await self._redis.lmpop(1, self._settings.queue, direction="RIGHT", count=most)
        except REDIS_FAULTS:
            return []  # what was popped before must not be lost with this
        return _items(popped)

    async def _work(self, items: list[bytes]) -> None:
        try:
            await self._handle(items, self._clock.time())
        except Exception as error:  # noqa: BLE001  # one batch must not end the drain
            log.error("a batch of %d items is lost, its callers fall back: %s", len(items), describe(error))
        finally:
            self._slots.release()

    async def _finish(self) -> None:
        if not self._batches:
            return
        _, left = await asyncio.wait(self._batches, timeout=self._settings.shutdown_grace_s)
        if left:
            log.warning("%d batches did not end in time: their callers fall back", len(left))
            await end(left)

    async def _rest(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return


def _items(popped: Any) -> list[bytes]:
    """The values of a `LMPOP` answer `[key, [value, ...]]`, or none."""
    return list(popped[1]) if popped else []
