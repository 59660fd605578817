"""Sends a workload through the embedded runtime and notes what each turn took."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from memsift_ops.errors import Failure
from memsift_ops.planning.validation.workloads import Workload
from memsift_workers.runtimes.base import Call
from memsift_workers.runtimes.embedded import EmbeddedRuntime

# A turn takes a tenth of that on a slow machine.
TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What the turns of a workload took, in their order.

    Attributes:
        asked: tokens of their prompts.
        cached: tokens that came from the cache.
        cpu_s: CPU seconds of the process; the least of the repeats.
    """

    asked: npt.NDArray[np.int64]
    cached: npt.NDArray[np.int64]
    cpu_s: npt.NDArray[np.float64]

    @property
    def hit_ratio(self) -> float:
        """Share of the prompts' tokens that came from the cache."""
        return float(self.cached.sum() / self.asked.sum())


async def replay(model: Path, workload: Workload, *, repeats: int, advance: Callable[[], None]) -> Measured:
    """Send all turns, one after the other, to an engine whose cache is empty at first.

    Args:
        model: weights for `EmbeddedRuntime`.
        workload: what to send.
        repeats: each with an engine of its own; other work on the machine only adds time.
        advance: called after each turn.

    Raises:
        Failure: two repeats found different tokens in the cache, so nothing can be predicted.
    """
    turns = list(workload.prompts())
    found = [await _once(model, workload.cache_mb, turns, advance) for _ in range(repeats)]
    asked, cached, cpu_s = (np.array([one[at] for one in found]) for at in range(3))
    if (cached != cached[0]).any():
        raise Failure(
            f"{workload.name}: the same calls found different tokens in the cache; please report it"
        )
    return Measured(asked[0], cached[0], cpu_s.min(axis=0))


async def _once(
    model: Path, cache_mb: int, turns: Sequence[list[Call]], advance: Callable[[], None]
) -> tuple[list[int], list[int], list[float]]:
    asked: list[int] = []
    cached: list[int] = []
    cpu_s: list[float] = []
    runtime = EmbeddedRuntime(model, cache_mb=cache_mb)
    await runtime.start()
    try:
        for calls in turns:
            began = time.process_time()
            answers = await runtime.run(calls, timeout=TIMEOUT_S)
            cpu_s.append(time.process_time() - began)
            asked.append(sum(answer.prompt_tokens for answer in answers))
            cached.append(sum(answer.cached_tokens for answer in answers))
            advance()
            await asyncio.sleep(0)
    finally:
        await runtime.close()
    return asked, cached, cpu_s
