"""`scorecard`: the model writes a ranking and a reason as JSON. The slowest way; its reason is for people."""

from __future__ import annotations

from collections.abc import Sequence

from memsift_schemas.job import RerankJob
from memsift_workers.rankers.base import Scores
from memsift_workers.runtimes.base import Answer, Call, Json
from memsift_workers.strategies import card
from memsift_workers.strategies.base import collect
from memsift_workers.strategies.layout import question
from memsift_workers.strategies.templates import Template


class Scorecard:
    """One prompt per job, a few dozen decoded tokens."""

    name = "scorecard"
    labels: tuple[str, ...] = ()

    def __init__(self, template: Template) -> None:
        self._template = template

    def calls(self, job: RerankJob) -> list[Call]:
        """One prompt with all memories of the job."""
        return [
            Call(
                prefix=f"{self._template.opening(card.SYSTEM)}{card.listing(job)}",
                suffix=f"{question(job)}Ranking as JSON:{self._template.before_answer}",
                wish=Json(card.schema(job), card.max_tokens(job)),
                namespace=job.user,
            )
        ]

    def scores(self, job: RerankJob, answers: Sequence[Answer]) -> Scores:
        """See `Strategy.scores`."""
        values, reason = card.read(job, answers[0].text if len(answers) == 1 else "")
        return collect(values, answers, reason)
