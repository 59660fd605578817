"""Asks each ranker each question through the queue, one ranker after the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from memsift_ops.datasets import Case
from memsift_ops.errors import Failure
from memsift_ops.evaluation import names
from memsift_ops.evaluation.outcome import PREFILTER, Key, Outcome, of_prefilter, of_ranker
from memsift_producer import Reranker
from memsift_schemas.result import Cause

# Quality is what is measured, so a slow ranker may take its time; its latency is told beside it.
DEADLINE_S = 60.0


class CpuClock:
    """CPU milliseconds since it was last asked.

    Args:
        seconds: CPU seconds of the process so far; None when they cannot be read.
    """

    def __init__(self, seconds: Callable[[], float | None]) -> None:
        self._seconds = seconds
        self._last = seconds()

    def lap(self) -> float | None:
        """Milliseconds since the last call, or since the beginning."""
        last, self._last = self._last, self._seconds()
        if last is None or self._last is None:
            return None
        return max(self._last - last, 0.0) * 1e3


def missing(
    sets: Mapping[str, Sequence[Case]], rankers: Sequence[str], done: Collection[Key]
) -> list[tuple[str, str, list[Case]]]:
    """What is still to be asked: set, ranker and questions, none of them empty."""
    found = [
        (name, ranker, [one for one in asked if (name, ranker, one.id) not in done])
        for name, asked in sets.items()
        for ranker in rankers
    ]
    return [(name, ranker, left) for name, ranker, left in found if left]


async def ask_prefilter(
    reranker: Reranker, name: str, questions: Sequence[Case], done: Callable[[Outcome], None]
) -> None:
    """Rank by the prefilter alone.

    Args:
        reranker: not open, so that it answers at once with its fallback.
        name: the set's name.
        questions: of that set.
        done: given each outcome.
    """
    cpu = CpuClock(time.process_time)
    for one in questions:
        cpu.lap()
        reranking = await reranker.rerank(**_question(one, name, PREFILTER), deadline=DEADLINE_S)
        done(of_prefilter(reranking, (name, PREFILTER, one.id), cpu_ms=cpu.lap()))


async def ask_ranker(
    reranker: Reranker,
    ranker: str,
    name: str,
    questions: Sequence[Case],
    *,
    concurrency: int,
    cpu_seconds: Callable[[], float | None],
    done: Callable[[Outcome], None],
) -> None:
    """Ask a ranker that a worker serves.

    Args:
        reranker: open.
        ranker: its name, or a chain; the strategy that it tells is the worker's.
        name: the set's name.
        questions: of that set.
        concurrency: how many questions are under way at once; above 1 they wait for each other, and the
            latency is that of a queue.
        cpu_seconds: of the worker so far.
        done: given each outcome.

    Raises:
        Failure: the worker does not serve this ranker.
    """
    cpu = CpuClock(cpu_seconds)
    left: Iterator[Case] = iter(questions)

    async def asker() -> None:
        for one in left:
            reranking = await reranker.rerank(
                **_question(one, name, ranker), deadline=DEADLINE_S, ranker=names.asked(ranker)
            )
            if reranking.cause is Cause.UNKNOWN_RANKER:
                asked = names.asked(ranker)
                raise Failure(
                    f"the running worker does not serve {asked}: start it with MEMSIFT_ALSO_SERVE={asked}, "
                    "or unset MEMSIFT_REDIS_URL for a temporary one"
                )
            done(of_ranker(reranking, (name, ranker, one.id), cpu_ms=cpu.lap()))

    await asyncio.gather(*(asker() for _ in range(concurrency)))


def _question(one: Case, name: str, ranker: str) -> dict[str, Any]:
    return {
        "query": one.query,
        "memories": one.memories,
        # No ranker profits from what another one left in a cache of this user's.
        "user": f"{ranker}/{name}/{one.user}",
        # Of its own: a deck of other questions would make the order of asking matter.
        "session": one.id,
        "turns": one.turns,
        "activity": one.activity,
        "now": one.now,
    }
