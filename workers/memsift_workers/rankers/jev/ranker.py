"""The `jev` ranker: light rescoring on one CPU core, no model, no server but Redis."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import numpy as np

from memsift_schemas.evidence import evidence
from memsift_schemas.job import RerankJob
from memsift_schemas.redis_link import REDIS_FAULTS, Pause, connect, end, tell
from memsift_schemas.result import Cause
from memsift_schemas.settings import WorkerSettings
from memsift_workers.faults import describe
from memsift_workers.rankers.base import Outcome, RankFault, Scores
from memsift_workers.rankers.jev.analysis import analyse, analyse_query
from memsift_workers.rankers.jev.features import FEATURES, features
from memsift_workers.rankers.jev.idf import Counted, IdfStore, unknown
from memsift_workers.rankers.jev.lexical import Floats

log = logging.getLogger("memsift.worker")

# How long a batch waits for the counts; a healthy Redis answers in one or two. They are worth little beside
# the candidates themselves, so it is not long.
IDF_WAIT_S = 0.05
# Of a batch's time, what may go into waiting for the counts.
_IDF_SHARE = 0.25
# Batches whose memories are still being counted; those of later ones are counted when they pass again.
_MOST_WRITES = 8
# Sums of the same numbers may differ in their last bit by where they stand; ties shall be ties.
_DECIMALS = 9


class JevRanker:
    """Scores are `features(job) @ weights`; the prefilter's scores are not looked at.

    Counts of the user's terms come from Redis where it answers in time. Where it does not, the candidates
    tell, and Redis is left alone for a while.
    """

    name = "jev"
    model = "jev"

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._weights = weights(settings)
        self._redis = connect(
            settings.redis_url,
            client_name="memsift-jev",
            connections=settings.batches_in_flight + _MOST_WRITES,
        )
        self._store = IdfStore(
            self._redis,
            queue=settings.queue,
            key=settings.jev_idf_key or "",
            memories=settings.jev_idf_memories,
            ttl_s=settings.jev_idf_ttl_s,
        )
        self._writes: set[asyncio.Task[None]] = set()
        self._pause = Pause()
        self._away_until = 0.0

    async def start(self) -> None:
        """Load the dictionaries, so that the first job is fast."""
        warm = RerankJob.model_validate(_WARM_UP)
        features(warm)

    async def rank(self, jobs: Sequence[RerankJob], *, timeout: float) -> list[Outcome]:
        """See `Ranker.rank`."""
        clock = asyncio.get_running_loop().time
        ends_at = clock() + timeout
        known = await self._read(jobs, min(IDF_WAIT_S, timeout * _IDF_SHARE))
        outcomes: list[Outcome] = []
        for job, counted in zip(jobs, known or unknown(jobs), strict=True):
            late = clock() >= ends_at
            outcomes.append(RankFault(Cause.RUNTIME_TIMEOUT) if late else self._score(job, counted))
        if known is not None and len(self._writes) < _MOST_WRITES:
            write = asyncio.create_task(self._count(jobs, known))
            self._writes.add(write)
            write.add_done_callback(self._writes.discard)
        return outcomes

    async def close(self) -> None:
        """End what is still being counted and close the connections."""
        await end(self._writes)
        await self._redis.aclose()

    def _score(self, job: RerankJob, counted: Counted) -> Outcome:
        try:
            scores = weigh(features(job, counted.collection), self._weights).tolist()
            asked = analyse_query(job.query).text.counts
            held = [analyse(memory.text).counts.keys() for memory in job.candidates]
        except Exception as error:  # noqa: BLE001  # a bad job must not take its batch down
            log.error("job %s falls back, it could not be scored: %s", job.id, describe(error))
            return RankFault(Cause.RANKER_ERROR)
        return Scores(values=tuple(scores), evidence=evidence(scores, asked, held))

    async def _read(self, jobs: Sequence[RerankJob], wait: float) -> list[Counted] | None:
        """The counts; None when there are none to be had, now or at all."""
        clock = asyncio.get_running_loop().time
        if not self._settings.jev_idf_memories or clock() < self._away_until:
            return None
        try:
            async with asyncio.timeout(wait):
                known = await self._store.read(jobs)
        except (*REDIS_FAULTS, TimeoutError) as fault:
            self._rest(fault)
            return None
        self._pause.reset()
        return known

    async def _count(self, jobs: Sequence[RerankJob], known: list[Counted]) -> None:
        try:
            await self._store.count(jobs, known)
        except REDIS_FAULTS as fault:
            self._rest(fault)

    def _rest(self, fault: BaseException) -> None:
        seconds = self._pause.next()
        self._away_until = asyncio.get_running_loop().time() + seconds
        log.warning("the candidates alone tell the idf: Redis did not answer (%s)", tell(fault))


def weights(settings: WorkerSettings) -> Floats:
    """The weight of each of `FEATURES`."""
    return np.array([getattr(settings, f"jev_weight_{name}") for name in FEATURES], dtype=np.float64)


def weigh(values: Floats, weights: Floats) -> Floats:
    """The score of each row of `features`."""
    scores: Floats = np.round(values @ weights, _DECIMALS)
    return scores


_WARM_UP = {
    "id": "warm-up",
    "query": "What is on today? 今天有什么安排？",
    "now": "2026-01-01T09:00:00Z",
    "candidates": [{"id": "1", "text": "On 1 January 一月一日", "created_at": "2026-01-01T08:00:00Z"}],
    "deadline": 1.0,
}
