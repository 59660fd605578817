"""The time of a model that is not there: lanes that prompts pass through, and what it was spent on."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Spent:
    """Model time.

    Attributes:
        prompts: how many began.
        busy_s: time in a lane.
        dead_s: that part which went to prompts whose deadline passed before they ended: all of their time.
        late_start_s: that part of `dead_s` whose prompt had already expired when it began.
    """

    prompts: int = 0
    busy_s: float = 0.0
    dead_s: float = 0.0
    late_start_s: float = 0.0

    def count(self, began: float, ended: float, deadline: float | None) -> None:
        """Add one prompt that was in a lane.

        Args:
            began: unix seconds.
            ended: unix seconds, also when it was aborted.
            deadline: unix seconds; None for a prompt that nobody waits for by a time.
        """
        self.prompts += 1
        self.busy_s += ended - began
        if deadline is not None and ended > deadline:
            self.dead_s += ended - began
            if began > deadline:
                self.late_start_s += ended - began


class Lanes:
    """So many prompts at once, each for so long, first come first served.

    Args:
        lanes: prompts at once.
        prompt_ms: what each takes; capacity is `lanes / prompt_ms`.
    """

    def __init__(self, lanes: int, prompt_ms: float, clock: Callable[[], float] = time.time) -> None:
        self._free = asyncio.Semaphore(lanes)
        self.prompt_ms = prompt_ms
        self._clock = clock
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def serve(self, deadlines: dict[str, float | None], spent: Spent) -> bool:
        """Take prompts through.

        Args:
            deadlines: by request id, one per prompt.
            spent: is added to, also when this is cancelled.

        Returns:
            Whether all went through; False when one was aborted.
        """
        tasks = {}
        for rid, deadline in deadlines.items():
            tasks[rid] = self._tasks[rid] = asyncio.ensure_future(self._one(deadline, spent))
        try:
            ended = await asyncio.gather(*tasks.values(), return_exceptions=True)
        finally:
            for rid, task in tasks.items():
                task.cancel()
                self._tasks.pop(rid, None)
            # A cancelled prompt counts its time as it leaves its lane.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait(tasks.values(), timeout=1)
        return not any(isinstance(one, BaseException) for one in ended)

    def abort(self, rid: str) -> None:
        """Take one prompt out, wherever it is."""
        if task := self._tasks.get(rid):
            task.cancel()

    async def _one(self, deadline: float | None, spent: Spent) -> None:
        async with self._free:
            began = self._clock()
            try:
                if self.prompt_ms:
                    await asyncio.sleep(self.prompt_ms / 1e3)
            finally:
                spent.count(began, self._clock(), deadline)
