"""Puts probabilities of relevance to what rankers answer, where a calibration holds a curve for them."""

from __future__ import annotations

import logging

from memsift_schemas.calibration import Calibration
from memsift_schemas.job import RerankJob
from memsift_schemas.result import RerankResult
from memsift_workers.rankers.base import Ranker, Scores, to_result

log = logging.getLogger("memsift.worker")


class Relevance:
    """Makes results from scores. Says once for each ranker that it cannot do what a job asks for."""

    def __init__(self, calibration: Calibration) -> None:
        self._calibration = calibration
        self._said: set[str] = set()

    def result(self, job: RerankJob, scores: Scores, ranker: Ranker) -> RerankResult:
        """See `to_result`.

        Raises:
            RankFault: the scores are no ranking.
        """
        curve = self._calibration.curve(ranker.name, ranker.model)
        if curve is None and job.min_relevance and ranker.name not in self._said:
            self._said.add(ranker.name)
            log.warning(
                "jobs ask for min_relevance, but MEMSIFT_CALIBRATION has no curve for %s (model %s): "
                "nothing is left out of their prompts",
                ranker.name,
                ranker.model or "none",
            )
        return to_result(job, scores, ranker, curve=curve)
