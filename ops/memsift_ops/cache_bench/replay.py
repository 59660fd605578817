"""Plays sessions through every layout, turn by turn, and notes what each turn cost and gave."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memsift_ops.cache_bench.meter import Count, Meter
from memsift_ops.cache_bench.sessions import Session
from memsift_ops.datasets import Case
from memsift_ops.errors import Failure
from memsift_producer.preparation import prepare
from memsift_producer.question import Question
from memsift_schemas.calibration import Calibration
from memsift_schemas.clock import SystemClock
from memsift_schemas.deck_use import DeckUse
from memsift_schemas.job import RerankJob
from memsift_schemas.result import RerankResult
from memsift_schemas.settings import ProducerSettings
from memsift_workers.rankers.base import RankFault, to_result
from memsift_workers.rankers.local import LocalRanker

# Nobody waits for it; an engine that takes longer for one turn is stuck.
TURN_S = 300.0


@dataclass(frozen=True, slots=True)
class Played:
    """One turn of one session in one layout.

    Attributes:
        layout: which.
        session: which, by its number.
        source: where the session comes from.
        turn: from 1.
        count: its tokens.
        ms: from the job to its ranking.
        cpu_ms: of this process, all threads.
        ranking: ids, best first.
        gold: ids of what is relevant.
        deck: the deck, where the layout has one.
    """

    layout: str
    session: int
    source: str
    turn: int
    count: Count
    ms: float
    cpu_ms: float
    ranking: tuple[str, ...]
    gold: frozenset[str]
    deck: DeckUse | None


async def play(
    sessions: Sequence[Session],
    layouts: Mapping[str, tuple[LocalRanker, Meter]],
    *,
    keep: int,
    progress: Callable[[], None],
) -> list[Played]:
    """Play every session in every layout, one layout after the other, so that all meet the same machine.

    Each session in each layout is a user of its own: none finds what another left in the cache.

    Args:
        sessions: the conversations.
        layouts: by name; started.
        keep: how many candidates the prefilter leaves.
        progress: called after each session in each layout.

    Raises:
        Failure: a turn could not be ranked.
    """
    settings = ProducerSettings(prefilter_keep=keep)
    found = []
    for number, session in enumerate(sessions):
        for name, (ranker, meter) in layouts.items():
            user = f"{name}-{number}"
            jobs = [job_of(case, user, settings) for case in session.cases]
            for turn, (case, job) in enumerate(zip(session.cases, jobs, strict=True), start=1):
                spent, result = await _turn(job, ranker, meter)
                ranking = tuple(place.id for place in result.ranking)
                found.append(
                    Played(name, number, session.name, turn, *spent, ranking, case.gold, result.deck)
                )
            progress()
    return found


async def _turn(
    job: RerankJob, ranker: LocalRanker, meter: Meter
) -> tuple[tuple[Count, float, float], RerankResult]:
    """Tokens, milliseconds and CPU milliseconds of a turn, and what came of it."""
    meter.count = Count()
    cpu, started = time.process_time(), time.perf_counter()
    (outcome,) = await ranker.rank([job], timeout=TURN_S)
    ms, cpu_ms = (time.perf_counter() - started) * 1e3, (time.process_time() - cpu) * 1e3
    if isinstance(outcome, RankFault):
        raise Failure(f"a turn could not be ranked: {outcome}")
    return (meter.count, ms, cpu_ms), to_result(job, outcome, ranker)


def job_of(case: Case, user: str, settings: ProducerSettings) -> RerankJob:
    """The job that a frontend would send for this question."""
    asked = Question(
        query=case.query,
        memories=case.memories,
        user=user,
        session="replayed",
        turns=case.turns,
        now=case.now,
        deadline=TURN_S,
    )
    prepared = prepare(
        asked, settings=settings, reply_to="bench", clock=SystemClock(), calibration=Calibration()
    )
    if prepared.job is None:
        raise Failure(f"the question {case.id} has no candidates")
    return prepared.job
