"""The whole way through the queue to a worker with the real engine, at one load, by window."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memsift_ops.batch_bench.questions import Users
from memsift_ops.environment import variables
from memsift_ops.local import PATIENT
from memsift_ops.peers.peer_side.arrivals import planned
from memsift_ops.peers.summary import percentile
from memsift_ops.stack import Stack
from memsift_producer import Reranker
from memsift_schemas.job import RerankJob
from memsift_schemas.result import Source

DEADLINE_S = 30.0


@dataclass(frozen=True, slots=True)
class Waited:
    """What callers waited with one window.

    Attributes:
        wait_ms: the window.
        rate: calls per second.
        ms: of each call that a worker answered, from its planned moment.
        calls: that were planned.
    """

    wait_ms: float
    rate: float
    ms: Sequence[float]
    calls: int

    def numbers(self) -> dict[str, float]:
        """For JSON."""
        shares = {f"p{share}_ms": percentile(self.ms, share, self.calls) for share in (50, 95, 99)}
        return {"wait_ms": self.wait_ms, "rate": self.rate, "calls": self.calls, **shares}


def measure(
    users: Users, many: int, *, wait_ms: float, batch_max: int, rate: float, seconds: float, seed: int
) -> Waited:
    """Start a worker with these settings and call it.

    Args:
        users: who ask.
        many: how many of them.
        wait_ms: `MEMSIFT_BATCH_WAIT_MS`.
        batch_max: `MEMSIFT_BATCH_MAX`.
        rate: calls per second.
        seconds: for so long.
        seed: of the arrivals.

    Raises:
        Failure: the worker did not start.
    """
    told = {"MEMSIFT_BATCH_WAIT_MS": f"{wait_ms:g}", "MEMSIFT_BATCH_MAX": str(batch_max)}
    with variables(told), Stack("memsift.bench.batch") as stack:
        url = stack.start_valkey()
        stack.start_worker()
        moments = planned(rate, seconds, seed)
        jobs = [users.ask(at % many) for at in range(len(moments))]
        first = [users.ask(at) for at in range(many)]
        ms = asyncio.run(_call(url, stack.queue, first, jobs, moments))
    return Waited(wait_ms, rate, ms, len(moments))


async def _call(
    url: str, queue: str, first: Sequence[RerankJob], jobs: Sequence[RerankJob], moments: Sequence[float]
) -> list[float]:
    found: list[float] = []
    async with Reranker.from_url(url, queue=queue, **PATIENT) as reranker:
        for job in first:  # their memories are read
            await reranker.rerank(**_asked(job))
        start = time.perf_counter() + 0.05

        async def one(job: RerankJob, due: float) -> None:
            answer = await reranker.rerank(**_asked(job))
            if answer.source is Source.MODEL:
                found.append((time.perf_counter() - due) * 1e3)

        tasks = []
        for job, moment in zip(jobs, moments, strict=True):
            await asyncio.sleep(max(start + moment - time.perf_counter(), 0))
            tasks.append(asyncio.create_task(one(job, start + moment)))
        await asyncio.gather(*tasks)
    return found


def _asked(job: RerankJob) -> dict[str, Any]:
    return {
        "query": job.query,
        "memories": job.candidates,
        "user": job.user,
        "session": job.session,
        "now": job.now,
        "deadline": DEADLINE_S,
    }
