"""memsift's own rankers in this process: the prefilter, or behind it any ranker of the worker."""

from __future__ import annotations

import asyncio
import time

from memsift_ops.cache_bench.replay import TURN_S, job_of
from memsift_ops.datasets import Case
from memsift_ops.errors import Failure
from memsift_ops.rank_bench.ranked import Ranked
from memsift_producer.preparation import prepare
from memsift_producer.question import Question
from memsift_schemas.calibration import Calibration
from memsift_schemas.clock import SystemClock
from memsift_schemas.settings import ProducerSettings
from memsift_workers.rankers.base import Ranker, RankFault, to_result
from memsift_workers.runtimes.base import RuntimeFault


class Prefilter:
    """The first stage alone."""

    def __init__(self) -> None:
        self._settings = ProducerSettings()

    def rank(self, case: Case) -> Ranked:
        """See `Subject.rank`."""
        cpu, began = time.process_time(), time.perf_counter()
        asked = Question(query=case.query, memories=case.memories, user=case.user, now=case.now)
        found = prepare(
            asked, settings=self._settings, reply_to="bench", clock=SystemClock(), calibration=Calibration()
        ).fallback()
        ms, cpu_ms = (time.perf_counter() - began) * 1e3, (time.process_time() - cpu) * 1e3
        return Ranked([*(place.id for place in found.ranking), *found.pruned], ms, cpu_ms)

    def close(self) -> None:
        """Nothing to give back."""


class Second:
    """A ranker behind the prefilter; each question is in a session of its own.

    Args:
        ranker: not yet started.
        keep: how many candidates the prefilter leaves for it.
    """

    def __init__(self, ranker: Ranker, *, keep: int) -> None:
        self._ranker = ranker
        self._settings = ProducerSettings(prefilter_keep=keep)
        self._loop = asyncio.new_event_loop()
        try:
            self._loop.run_until_complete(ranker.start())
        except RuntimeFault as fault:
            self.close()
            raise Failure(str(fault)) from None

    def rank(self, case: Case) -> Ranked:
        """See `Subject.rank`."""
        cpu, began = time.process_time(), time.perf_counter()
        job = job_of(case, case.id, self._settings)
        (outcome,) = self._loop.run_until_complete(self._ranker.rank([job], timeout=TURN_S))
        ms, cpu_ms = (time.perf_counter() - began) * 1e3, (time.process_time() - cpu) * 1e3
        if isinstance(outcome, RankFault):
            raise Failure(f"the question {case.id} could not be ranked: {outcome}")
        ranking = [place.id for place in to_result(job, outcome, self._ranker).ranking]
        kept = set(ranking)
        return Ranked([*ranking, *(one.id for one in case.memories if one.id not in kept)], ms, cpu_ms)

    def close(self) -> None:
        """See `Subject.close`."""
        self._loop.run_until_complete(self._ranker.close())
        self._loop.close()
