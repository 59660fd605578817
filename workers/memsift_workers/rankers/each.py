"""For rankers that ask a server about each job by itself: all jobs at once, and none harms another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from memsift_schemas.job import RerankJob
from memsift_schemas.result import Cause
from memsift_workers.faults import describe
from memsift_workers.rankers.base import Outcome, RankFault, Scores
from memsift_workers.rankers.causes import rank_fault
from memsift_workers.runtimes.base import RuntimeFault

log = logging.getLogger("memsift.worker")

# Given the job and the loop time after which nobody waits for it.
RankOne = Callable[[RerankJob, float], Awaitable[Scores]]


async def rank_each(jobs: Sequence[RerankJob], rank_one: RankOne, *, timeout: float) -> list[Outcome]:
    """One outcome per job, in order, within `timeout` seconds; whatever goes wrong is that job's fault."""
    ends_at = asyncio.get_running_loop().time() + timeout
    return list(await asyncio.gather(*(_one(job, rank_one, ends_at) for job in jobs)))


async def _one(job: RerankJob, rank_one: RankOne, ends_at: float) -> Outcome:
    try:
        async with asyncio.timeout_at(ends_at):
            return await rank_one(job, ends_at)
    except RankFault as fault:
        return fault
    except RuntimeFault as fault:
        return rank_fault(fault)
    except TimeoutError:
        return RankFault(Cause.RUNTIME_TIMEOUT, "no answer within the time given")
    except Exception as error:  # noqa: BLE001  # a bad job must not take its batch down
        log.error("job %s falls back, the ranker failed: %s", job.id, describe(error))
        return RankFault(Cause.RANKER_ERROR)
