"""What a worker takes up while it handles no batch: one item at a time, from lists that nobody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from redis.asyncio import Redis

from memsift_schemas.redis_link import BLOCK_S, REDIS_FAULTS, Pause

# How soon a worker that was busy looks again.
LOOK_EVERY_S = 0.05


async def take_when_idle(
    redis: Redis,
    lists: Sequence[str],
    handle: Callable[[bytes], Awaitable[None]],
    *,
    is_busy: Callable[[], bool],
) -> None:
    """Pop and handle for ever; ends by being cancelled.

    Args:
        redis: the connection; the pop blocks one.
        lists: what to pop from, the first that has something.
        handle: what to do with an item; may raise what Redis raises.
        is_busy: whether nothing is to be taken now.
    """
    pause = Pause()
    while True:
        if is_busy():
            await asyncio.sleep(LOOK_EVERY_S)
            continue
        try:
            popped: Any = await redis.blmpop(BLOCK_S, len(lists), *lists, direction="RIGHT", count=1)
            if popped:
                await handle(popped[1][0])
        except REDIS_FAULTS:  # the drain tells of it
            await asyncio.sleep(pause.next())
        else:
            pause.reset()
