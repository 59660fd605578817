"""Batches of several sizes on one engine, each size as often, in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memsift_ops.batch_bench.questions import Users
from memsift_ops.errors import Failure
from memsift_workers.rankers.base import RankFault
from memsift_workers.rankers.local import LocalRanker

# Nobody waits for it; an engine that takes longer for one batch is stuck.
BATCH_S = 300.0


@dataclass(frozen=True, slots=True)
class Timed:
    """One batch.

    Attributes:
        size: its jobs.
        ms: from the jobs to their scores.
        cpu_ms: of this process meanwhile, all threads; of an engine elsewhere it holds nothing.
    """

    size: int
    ms: float
    cpu_ms: float


async def measure(
    ranker: LocalRanker, users: Users, sizes: Sequence[int], *, rounds: int, progress: Callable[[], None]
) -> list[Timed]:
    """Rank batches of new questions of users whose memories are in the engine's cache.

    Args:
        ranker: started; as a worker's, whose memory for answers has met none of the questions.
        users: who ask.
        sizes: of the batches.
        rounds: batches of each size.
        progress: called after each batch.

    Raises:
        Failure: a batch could not be ranked.
    """
    for at in range(max(sizes)):
        await _rank(ranker, users, [at])
    found = []
    for _ in range(rounds):
        for size in sizes:
            found.append(await _rank(ranker, users, range(size)))
            progress()
    return found


async def _rank(ranker: LocalRanker, users: Users, who: Sequence[int]) -> Timed:
    jobs = [users.ask(user) for user in who]
    cpu, began = time.process_time(), time.perf_counter()
    outcomes = await ranker.rank(jobs, timeout=BATCH_S)
    ms, cpu_ms = (time.perf_counter() - began) * 1e3, (time.process_time() - cpu) * 1e3
    for outcome in outcomes:
        if isinstance(outcome, RankFault):
            raise Failure(f"a batch could not be ranked: {outcome}")
    return Timed(len(jobs), ms, cpu_ms)
