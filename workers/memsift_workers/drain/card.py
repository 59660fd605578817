"""What a worker says of itself, once a second: frontends admit jobs by it, and operators look at it."""

from __future__ import annotations

import os
from typing import Any

from memsift_schemas.settings import WorkerSettings
from memsift_workers.drain.batch import BatchHandler
from memsift_workers.flow.limiter import Limiter
from memsift_workers.rankers.base import Ranker, prompt_version


def card(
    settings: WorkerSettings, ranker: Ranker, *, handler: BatchHandler, limiter: Limiter, paused: bool
) -> dict[str, Any]:
    """Who this worker is, and what it can do just now; ids, names and numbers alone.

    Args:
        settings: the worker's.
        ranker: its default one.
        handler: of its batches.
        limiter: of its jobs under way.
        paused: whether it takes nothing.
    """
    return {
        "runtime": settings.runtime,
        "model": ranker.model,
        "prompt_version": prompt_version(ranker),
        "strategy": settings.strategy,
        "ranker": settings.ranker,
        "serves": settings.served,
        "pid": os.getpid(),
        "paused": paused,
        # None until there was more work than it could take: what small batches get done says nothing.
        "jobs_per_s": handler.load.jobs_per_s,
        "batch_ms": handler.times.median_ms(settings.ranker),
        # With the room that is held for the pop under way.
        "in_flight": limiter.in_flight,
        "ranking": sum(len(group) for _, group in handler.asked.values()),
        "limit": limiter.limit,
        "cache": handler.cache.as_dict(),
        "causes": dict(handler.tally),
        **handler.recent.as_dict(),
    }
