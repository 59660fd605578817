"""Asking a ranker: within the time that the jobs have, and no longer than somebody waits for the answer."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence

from memsift_schemas.clock import Clock
from memsift_schemas.job import RerankJob
from memsift_schemas.result import Cause
from memsift_workers.faults import describe
from memsift_workers.flow.cancellation import LOOK_EVERY_S, Cancellations
from memsift_workers.flow.service_times import ServiceTimes
from memsift_workers.rankers.base import Outcome, Ranker, RankFault, Scores

log = logging.getLogger("memsift.worker")

# A ranker that has been told to stop and does not is left behind after this.
STOP_S = 1.0


class Asker:
    """Puts batches to rankers. Whatever a ranker does, there is one outcome per job."""

    def __init__(
        self, *, clock: Clock, rank_timeout_s: float, cancellations: Cancellations, times: ServiceTimes
    ) -> None:
        self._clock = clock
        self._rank_timeout_s = rank_timeout_s
        self._cancellations = cancellations
        self._times = times

    async def ask(self, ranker: Ranker, jobs: Sequence[RerankJob]) -> list[Outcome]:
        """Outcomes in the jobs' order; of a batch at which the ranker raises, each job is asked alone."""
        began = self._clock.monotonic()
        outcomes = await self._ask(ranker, jobs)
        if outcomes is None and len(jobs) > 1:
            each = await asyncio.gather(*(self._ask(ranker, [job]) for job in jobs))
            outcomes = [one[0] if one else RankFault(Cause.RANKER_ERROR) for one in each]
        elif outcomes is None:
            outcomes = [RankFault(Cause.RANKER_ERROR)]
        elif any(_tells_time(outcome) for outcome in outcomes):
            self._times.record(ranker.name, self._clock.monotonic() - began)
        return outcomes

    async def _ask(self, ranker: Ranker, jobs: Sequence[RerankJob]) -> list[Outcome] | None:
        """None when the ranker raised, or forgot somebody."""
        latest = max(job.deadline for job in jobs) - self._clock.time()
        timeout = max(min(latest, self._rank_timeout_s), 0.001)
        try:
            outcomes = await self._watched(ranker, jobs, timeout)
            if len(outcomes) != len(jobs):
                raise RankFault(Cause.RANKER_ERROR, f"{len(outcomes)} outcomes for {len(jobs)} jobs")
        except Exception as error:  # noqa: BLE001  # whatever a ranker does, the worker lives on
            what = "a job falls back" if len(jobs) == 1 else f"each of {len(jobs)} jobs is asked for alone"
            log.error("%s, the ranker raised: %s", what, describe(error))
            return None
        return outcomes

    async def _watched(self, ranker: Ranker, jobs: Sequence[RerankJob], timeout: float) -> list[Outcome]:
        """Rank; when that takes long, look now and then whether anybody still waits."""
        ranking = asyncio.ensure_future(ranker.rank(jobs, timeout=timeout))
        gone: set[str] = set()
        try:
            while not ranking.done():
                await asyncio.wait({ranking}, timeout=LOOK_EVERY_S)
                if ranking.done():
                    break
                gone |= await self._cancellations.marked([job.id for job in jobs if job.id not in gone])
                if gone and not self._waited_for(jobs, gone):
                    await _stop(ranking)
                    return [self._unwanted(job, gone) for job in jobs]
            outcomes = ranking.result()
        finally:
            if not ranking.done():  # this batch itself was given up
                ranking.cancel()
        if not gone or len(outcomes) != len(jobs):
            return outcomes
        return [
            RankFault(Cause.CANCELLED) if job.id in gone else outcome
            for job, outcome in zip(jobs, outcomes, strict=True)
        ]

    def _waited_for(self, jobs: Sequence[RerankJob], gone: set[str]) -> bool:
        now = self._clock.time()
        return any(job.id not in gone and now < job.deadline for job in jobs)

    @staticmethod
    def _unwanted(job: RerankJob, gone: set[str]) -> RankFault:
        return RankFault(Cause.CANCELLED if job.id in gone else Cause.EXPIRED)


async def _stop(ranking: asyncio.Future[list[Outcome]]) -> None:
    """Cancel it, which aborts what the runtime has of it."""
    ranking.cancel()
    await asyncio.wait({ranking}, timeout=STOP_S)
    with contextlib.suppress(asyncio.CancelledError, Exception):
        if ranking.done():
            ranking.exception()


def _tells_time(outcome: Outcome) -> bool:
    """A fault at once says nothing of how long an answer takes; a timeout says at least how long."""
    return isinstance(outcome, Scores) or outcome.cause is Cause.RUNTIME_TIMEOUT
