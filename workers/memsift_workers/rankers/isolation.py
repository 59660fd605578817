"""After a runtime died with a batch in it: which job was it?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from memsift_schemas.redis_link import Pause
from memsift_workers.rankers.base import RankFault
from memsift_workers.rankers.causes import rank_fault
from memsift_workers.runtimes.base import (
    Answer,
    Call,
    RuntimeCrashed,
    RuntimeFault,
    RuntimeUnavailable,
)

RunOne = Callable[[list[Call], float], Awaitable[list[Answer]]]
Probe = Callable[[float], Awaitable[None]]


async def one_by_one(
    asked: Sequence[list[Call]], run_one: RunOne, probe: Probe, *, ends_at: float
) -> list[list[Answer] | RankFault]:
    """Ask for each job alone, each of a runtime that has just shown that it is alive.

    A job is blamed when the connection breaks during its own request: the server was healthy before it and
    had nothing else of ours. A server that is simply down answers no probe, so nobody is blamed for that.

    Args:
        asked: each job's calls.
        run_one: asks for one job within seconds.
        probe: a tiny request.
        ends_at: loop time after which nobody waits.
    """
    found: list[list[Answer] | RankFault] = []
    for calls in asked:
        try:
            await _until_alive(probe, ends_at)
        except RuntimeFault as fault:
            # It was waited for until nobody waits any more: the rest would find the same.
            return found + [rank_fault(fault)] * (len(asked) - len(found))
        try:
            found.append(await run_one(calls, time_left(ends_at)))
        except RuntimeFault as fault:
            found.append(rank_fault(fault, blamed=isinstance(fault, RuntimeCrashed)))
    return found


async def _until_alive(probe: Probe, ends_at: float) -> None:
    pause = Pause()
    while True:
        try:
            return await probe(time_left(ends_at))
        except RuntimeUnavailable:
            seconds = pause.next()
            if time_left(ends_at) <= seconds:
                raise
            await asyncio.sleep(seconds)


def time_left(ends_at: float) -> float:
    """Seconds until this loop time, a millisecond at least."""
    return max(ends_at - asyncio.get_running_loop().time(), 0.001)
