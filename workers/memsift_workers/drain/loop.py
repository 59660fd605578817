"""The drain loop: a slot, a short wait for company, a pop, a batch."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable

from memsift_schemas.clock import Clock
from memsift_schemas.redis_link import (
    BLOCK_S,
    CONNECT_TIMEOUT_S,
    REDIS_FAULTS,
    SOCKET_TIMEOUT_S,
    Pause,
    end,
    tell,
)
from memsift_workers.drain.popped import Popped
from memsift_workers.drain.taking import Taking
from memsift_workers.faults import describe
from memsift_workers.flow.limits import Limits
from memsift_workers.flow.rescue import Rescue

log = logging.getLogger("memsift.worker")

# A pop that takes this much longer than it should when the worker ends is one that Redis never answers.
LAST_POP_S = 1.0
# How soon a paused drain sees that it may go on.
PAUSED_LOOK_S = 0.1
# What Redis may keep one turn for: a pop and a top-up that each connect and time out twice, and a pause.
TURN_S = BLOCK_S + 2 * 2 * (CONNECT_TIMEOUT_S + SOCKET_TIMEOUT_S) + Pause.MOST_S

Handle = Callable[[Popped], Awaitable[None]]


class DrainLoop:
    """Pops micro-batches and hands each to `handle`, several at once.

    Room is taken before anything is popped: what cannot be worked on stays in Redis, where another
    worker can have it. A pop under way is not cancelled, or what it popped would be lost, unless the worker
    ends and Redis does not answer.

    Args:
        taking: pops.
        limits: those in force, which may change at any time; how much may be under way.
        handle: takes each batch.
        clock: the server's.
        rescue: pops instead, and records what it popped.

    Attributes:
        stopping: set by `stop`.
        paused: nothing is taken; what is in flight goes on.
        changed: set whenever it stops, pauses or goes on.
    """

    def __init__(
        self,
        *,
        taking: Taking,
        limits: Limits,
        handle: Handle,
        clock: Clock,
        rescue: Rescue | None = None,
    ) -> None:
        self._taking = taking
        self._settings = limits.settings
        self._limits = limits
        self._handle = handle
        self._clock = clock
        self._limiter = limits.limiter
        self._rescue = rescue
        self._popping: asyncio.Future[tuple[list[bytes], str]] | None = None
        # Whether the last batch was full, so that more jobs probably wait.
        self._crowded = False
        self._popped_at = -math.inf
        self._batches: set[asyncio.Task[None]] = set()
        self._turned_at = math.inf  # not yet
        self._waits_for_room = False
        self.stopping = asyncio.Event()
        self.paused = False
        self.changed = asyncio.Event()

    @property
    def is_turning(self) -> bool:
        """Whether the last turn was not longer ago than one may take; always while it ends.

        A turn waits for room as long as the batches in flight take, which their own time limit bounds.
        """
        most = TURN_S + self._limits.batch_wait_ms / 1e3
        if self._waits_for_room:
            most += self._settings.rank_timeout_ms / 1e3
        return self.stopping.is_set() or self._clock.monotonic() - self._turned_at < most

    def is_resting(self) -> bool:
        """Whether nothing more is taken."""
        return self.paused or self.stopping.is_set()

    def pause(self, *, paused: bool) -> None:
        """Take nothing more, or go on. A pop under way ends within `BLOCK_S`, and what it gets is ranked."""
        self.paused = paused
        self.changed.set()

    def stop(self) -> None:
        """Take nothing more; `run` returns when what is in flight has ended."""
        self.stopping.set()
        self.changed.set()
        self._limiter.close()
        if self._popping is not None:
            patience = BLOCK_S + self._limits.batch_wait_ms / 1e3 + LAST_POP_S
            asyncio.get_running_loop().call_later(patience, self._popping.cancel)

    async def run(self) -> None:
        """Drain until `stop`, then wait for the batches in flight, at most the grace time."""
        pause = Pause()
        while not self.stopping.is_set():
            room = await self._room()
            if not room:
                break
            if self.paused:
                self._limiter.give_back(room)
                await self._rest(PAUSED_LOOK_S)
                continue
            try:
                self._popping = asyncio.ensure_future(self._pop(room))
                items, record = await self._popping
            except asyncio.CancelledError:
                if self._popping is None or not self._popping.cancelled():
                    raise
                break  # given up by `stop`
            except REDIS_FAULTS as fault:
                self._limiter.give_back(room)
                seconds = pause.next()
                log.warning("Redis is away (%s): next try in %.2g s", tell(fault), seconds)
                await self._rest(seconds)
                continue
            pause.reset()
            if not items:
                self._crowded = False
                self._limiter.give_back(room)
                continue
            self._limiter.keep(room, len(items))
            self._crowded = len(items) >= room
            self._popped_at = self._clock.monotonic()
            popped = Popped(
                items,
                self._clock.time(),
                crowded=self._crowded,
                record=record,
                fill=len(items) / self._limits.batch_max,
            )
            task = asyncio.create_task(self._work(popped))
            self._batches.add(task)
            task.add_done_callback(self._batches.discard)
        await self._finish()

    async def _room(self) -> int:
        """See `Limiter.take`."""
        self._turned_at = self._clock.monotonic()
        self._waits_for_room = True
        room = await self._limiter.take(self._limits.batch_max)
        self._waits_for_room = False
        self._turned_at = self._clock.monotonic()
        return room

    async def _pop(self, most: int) -> tuple[list[bytes], str]:
        await self._gather()
        if self.is_resting():
            return [], ""
        if self._rescue is not None:
            return await self._rescue.pop(most)
        # What waits in both lists fills one batch; a pop that waits takes from one.
        items = await self._taking.at_once(most) if self._taking.has_two else []
        return items or await self._taking.wait(most), ""

    async def _gather(self) -> None:
        """Let jobs come together: while the runtime is busy a batch begins so much after the last one.

        A full one begins at once, and so does what finds the runtime idle.
        """
        left = self._popped_at + self._limits.batch_wait_ms / 1e3 - self._clock.monotonic()
        if self._batches and not self._crowded and left > 0:
            await asyncio.wait(tuple(self._batches), timeout=left)

    async def _work(self, popped: Popped) -> None:
        try:
            await self._handle(popped)
        except Exception as error:  # noqa: BLE001  # one batch must not end the drain
            log.error(
                "a batch of %d items is lost, its callers fall back: %s", len(popped.items), describe(error)
            )
        finally:
            self._limiter.give_back(len(popped.items))

    async def _finish(self) -> None:
        if not self._batches:
            return
        _, left = await asyncio.wait(self._batches, timeout=self._settings.shutdown_grace_s)
        if left:
            log.warning("%d batches did not end in time: their callers fall back", len(left))
            await end(left)

    async def _rest(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self.stopping.wait(), seconds)
        except TimeoutError:
            return
