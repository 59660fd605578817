"""Runs a call's work: in its turn, and only as long as its client waits."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from enum import Enum, auto
from typing import Any, TypeVar

from starlette.types import Receive

from memsift_producer.gateway.body import Gone
from memsift_schemas.clock import Clock

T = TypeVar("T")

# Weight of the newest turn in the mean.
SMOOTHING = 0.1
# How much of its time a call may still have to wait for its turn; in the rest its answer is written and read.
FOR_WAITING = 0.8


class Pace(Enum):
    """Who answers a call, so that those behind it are answered by their deadlines as well."""

    MODEL = auto()  # the usual case
    PREFILTER = auto()  # saves the job, and the model's answer to it
    AS_GIVEN = auto()  # saves the prefilter too: the order in which recall found them


class Turns:
    """Calls begin one after another, in the order in which they came.

    Reading a body and the prefilter take about a millisecond without a pause. When two thousand calls come at
    once and all begin at once, no answer is read or written for seconds; so the event loop goes round between
    any two. What a call waits for here counts against its deadline.

    Args:
        clock: tells the time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._turn_s: dict[Pace, float] = {}
        self._began: float | None = None  # when the last turn began, if another call waited then
        self._pace: Pace | None = None  # at which it goes, once that is known

    def pace(self, left_s: float) -> Pace:
        """For the call whose turn it is, the best pace at which those that wait now still begin in time.

        Args:
            left_s: seconds until it must be answered; those behind it are taken to have as many.
        """
        in_time = (
            pace for pace in Pace if self._waiting * self._turn_s.get(pace, 0.0) <= left_s * FOR_WAITING
        )
        self._pace = pace = next(in_time, Pace.AS_GIVEN)
        return pace

    async def run(self, receive: Receive, work: Coroutine[Any, Any, T]) -> T:
        """The work's result.

        Args:
            receive: the ASGI server's, after the body was read: tells only of a client that goes away.
            work: is cancelled then, whose job is withdrawn, or marked for the worker to drop.

        Raises:
            Gone: the client went away first.
        """
        task = asyncio.ensure_future(self._begun(work))
        watch = asyncio.ensure_future(_gone(receive, task))
        try:
            return await task
        except asyncio.CancelledError:
            if task.cancelled() and watch.done() and not watch.cancelled():
                raise Gone from None
            raise
        finally:
            watch.cancel()
            work.close()  # of a client that went away before its turn; else it has ended

    async def _begun(self, work: Coroutine[Any, Any, T]) -> T:
        self._waiting += 1
        try:
            await self._lock.acquire()
        finally:
            self._waiting -= 1
        self._measure()
        asyncio.get_running_loop().call_soon(self._lock.release)  # comes when the work makes its first pause
        return await work

    def _measure(self) -> None:
        now = self._clock.monotonic()
        if self._began is not None and self._pace is not None:
            took = now - self._began
            mean = self._turn_s.get(self._pace, took)
            self._turn_s[self._pace] = mean + (took - mean) * SMOOTHING
        self._began = now if self._waiting else None
        self._pace = None


async def _gone(receive: Receive, task: asyncio.Future[Any]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    task.cancel()
