"""A strategy is two pure functions: which prompts a job needs, and what their answers mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from memsift_schemas.job import RerankJob
from memsift_workers.rankers.base import Scores
from memsift_workers.runtimes.base import Answer, Call


class Strategy(Protocol):
    """One way to ask. Holds no state between jobs."""

    name: str
    # Labels whose logits are read; the runtime checks at start that each is one token.
    labels: tuple[str, ...]

    def calls(self, job: RerankJob) -> list[Call]:
        """The prompts that rank this job, at least one.

        Raises:
            RankFault: this job cannot be asked this way.
        """
        ...

    def scores(self, job: RerankJob, answers: Sequence[Answer]) -> Scores:
        """Read the answers to `calls(job)`, in their order.

        Raises:
            RankFault: they make no sense.
        """
        ...


def collect(
    values: Sequence[float],
    answers: Sequence[Answer],
    reason: str | None = None,
    evidence: tuple[float, ...] | None = None,
) -> Scores:
    """Scores of one job with the token counts of its answers."""
    return Scores(
        values=tuple(values),
        evidence=evidence,
        reason=reason,
        prompt_tokens=sum(answer.prompt_tokens for answer in answers),
        cached_tokens=sum(answer.cached_tokens for answer in answers),
        output_tokens=sum(answer.output_tokens for answer in answers),
    )
