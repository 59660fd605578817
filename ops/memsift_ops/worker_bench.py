"""What one worker process holds: jobs at planned moments, as messages that cost next to nothing to make."""

from __future__ import annotations

import asyncio
import bisect
import contextlib
import secrets
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
from redis.asyncio import Redis

from memsift_ops.benchmarks.cpu_clock import cpu_s
from memsift_ops.drain_bench import production_job
from memsift_ops.peers.peer_side.arrivals import planned
from memsift_ops.peers.summary import PERCENTILES, percentile
from memsift_schemas import message, wire
from memsift_schemas.keys import reply_key
from memsift_schemas.redis_link import end

# Nobody waits longer; a job that is not answered by then is lost.
PATIENCE_S = 10.0
ANSWER_WITHIN_S = 600.0
_SENT_AT = "1111111111.111111"


@dataclass(frozen=True, slots=True)
class Held:
    """What became of a load.

    Attributes:
        jobs: how many were planned.
        ms: from the planned moment of each to its reply's arrival.
        refused: replies that were no ranking.
        worker_cpu_us: CPU of the worker per job, microseconds.
        behind_ms: the latest that a job was pushed after its moment: a busy machine's, not the worker's.
    """

    jobs: int
    ms: Sequence[float]
    refused: int
    worker_cpu_us: float
    behind_ms: float

    @property
    def lost(self) -> int:
        """How many had no answer at all."""
        return self.jobs - len(self.ms) - self.refused

    def numbers(self) -> dict[str, float]:
        """For JSON, without each latency."""
        shares = {f"p{share}_ms": percentile(self.ms, share, self.jobs) for share in PERCENTILES}
        told = {"jobs": self.jobs, "refused": self.refused, "lost": self.lost}
        return {**told, **shares, "worker_cpu_us": self.worker_cpu_us, "behind_ms": self.behind_ms}


class _Load:
    def __init__(self, url: str, queue: str) -> None:
        self.redis = Redis.from_url(url)
        self.queue = queue
        self.replies = reply_key(queue, secrets.token_urlsafe(16))
        self.due: dict[str, float] = {}
        self.ms: list[float] = []
        self.refused = 0
        self.behind = 0.0
        self._settled = asyncio.Event()
        self._parts = self._template()

    async def answered(self) -> None:
        """Wait until nothing that was pushed is without an answer."""
        while self.due:
            self._settled.clear()
            await self._settled.wait()

    def _template(self) -> list[bytes]:
        job = production_job(datetime.now(UTC), reply_to=self.replies, answer_within_s=ANSWER_WITHIN_S)
        job = job.model_copy(update={"sent_at": float(_SENT_AT)})
        self._id = job.id
        return message.build(job, wire.encode_job(job), self.queue).split(_SENT_AT.encode())

    def made(self, now: float) -> tuple[str, bytes]:
        """A message with an id, a question and a time of its own."""
        id_ = uuid.uuid4().hex
        raw = f"{now:.6f}".encode().join(self._parts)
        # The question is named by the first eight letters of the id.
        return id_, raw.replace(self._id.encode(), id_.encode()).replace(
            self._id[:8].encode(), id_[:8].encode()
        )

    async def push(self, moments: Sequence[float], start: float) -> None:
        """Push each job when it is due; those that are due together in one command."""
        at = 0
        while at < len(moments):
            if (left := start + moments[at] - time.perf_counter()) > 0:
                await asyncio.sleep(left)
            until = bisect.bisect_right(moments, time.perf_counter() - start, lo=at + 1)
            now, made = time.time(), []
            for moment in moments[at:until]:
                id_, raw = self.made(now)
                self.due[id_] = start + moment
                made.append(raw)
            self.behind = max(self.behind, time.perf_counter() - start - moments[at])
            await self.redis.lpush(self.queue, *made)
            at = until

    async def collect(self) -> None:
        """Take replies for ever."""
        while True:
            popped: Any = await self.redis.blmpop(1, 1, self.replies, direction="LEFT", count=256)
            now = time.perf_counter()
            for raw in popped[1] if popped else ():
                told = orjson.loads(raw)
                result = told.get("result")
                due = self.due.pop((result or told["refusal"])["job_id"], None)
                if due is None:
                    continue
                if result is None:
                    self.refused += 1
                else:
                    self.ms.append((now - due) * 1e3)
            if not self.due:
                self._settled.set()


async def measure(url: str, queue: str, worker_pid: int, *, rate: float, seconds: float, seed: int) -> Held:
    """Load a worker that is ready; two seconds go first and are not counted.

    Args:
        url: the Redis server.
        queue: its queue.
        worker_pid: whose CPU counts.
        rate: jobs per second.
        seconds: for so long.
        seed: of the arrivals.
    """
    load = _Load(url, queue)
    collecting = asyncio.create_task(load.collect())
    try:
        await load.push(planned(rate, 2.0, seed + 1), time.perf_counter())
        await asyncio.sleep(1.0)
        load.due.clear()
        load.ms, load.refused, load.behind = [], 0, 0.0
        moments = planned(rate, seconds, seed)
        cpu = cpu_s(worker_pid)
        await load.push(moments, time.perf_counter())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(load.answered(), PATIENCE_S)
        await asyncio.sleep(0.3)  # the last events are still being sent, and count
        used = cpu_s(worker_pid) - cpu
    finally:
        await end([collecting])
        await load.redis.aclose()
    return Held(len(moments), load.ms, load.refused, used / len(moments) * 1e6, load.behind * 1e3)
