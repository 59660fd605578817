"""One run: the engine, the Redis for the decks, all layouts, and what the server says to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from memsift_ops.cache_bench import layouts, server_counts
from memsift_ops.cache_bench.replay import Played, play
from memsift_ops.cache_bench.sessions import Session
from memsift_ops.errors import Failure
from memsift_schemas.settings import WorkerSettings
from memsift_workers.assembly import build_runtime
from memsift_workers.runtimes.base import RuntimeFault

# The server's counters are written by another process, a moment after the answer.
COUNTED_AFTER_S = 2.0


async def run(
    sessions: Sequence[Session], settings: WorkerSettings, *, keep: int, progress: Callable[[], None]
) -> tuple[list[Played], dict[str, Any] | None]:
    """Play all sessions in all layouts.

    Args:
        sessions: the conversations.
        settings: name the runtime and the Redis.
        keep: how many candidates the prefilter leaves.
        progress: called after each session in each layout.

    Returns:
        Every turn, and the server's own count beside ours; None for a runtime that has none.

    Raises:
        Failure: the engine cannot be used, or failed.
    """
    runtime = build_runtime(settings)
    try:
        await runtime.start()
        built = layouts.build(runtime, settings)
        for ranker, _ in built.values():
            await ranker.start()
        before = await _totals(settings)
        played = await play(sessions, built, keep=keep, progress=progress)
        if before is None:
            return played, None
        await asyncio.sleep(COUNTED_AFTER_S)
        after = await server_counts.read(settings.sglang_url)
        return played, _compared(played, {name: after[name] - before[name] for name in before})
    except RuntimeFault as fault:
        raise Failure(str(fault)) from None
    finally:
        await runtime.close()


async def _totals(settings: WorkerSettings) -> dict[str, float] | None:
    if settings.runtime != "sglang":
        return None
    return await server_counts.read(settings.sglang_url)


def _compared(played: Sequence[Played], server: dict[str, float]) -> dict[str, Any]:
    """Both counts and by how much ours is off, as a part of the server's prompt tokens."""
    ours = {
        "prompt_tokens": float(sum(one.count.prompt for one in played)),
        "cached_tokens": float(sum(one.count.cached for one in played)),
    }
    off = {name: abs(ours[name] - server[name]) / server["prompt_tokens"] for name in ours}
    return {"ours": ours, "server": server, "off_by": max(off.values())}
