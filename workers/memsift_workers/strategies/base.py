"""A strategy is pure functions: which prompts a job needs, and what their answers mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from memsift_schemas.job import RerankJob
from memsift_workers.decks.laid import Laid
from memsift_workers.rankers.base import Parts, Scores
from memsift_workers.runtimes.base import Answer, Call, RuntimeMisconfigured
from memsift_workers.strategies.layout import TALK


class Strategy(Protocol):
    """One way to ask. Holds no state between jobs."""

    name: str
    # Labels whose logits are read; the model's tokenizer decides which of them can be.
    labels: tuple[str, ...]

    @property
    def deck_size(self) -> int:
        """How many memories of a session's deck one prompt can show; 0 where each has a prompt of its own."""
        ...

    def use_labels(self, usable: Sequence[str]) -> None:
        """Take those of `labels` that are one token of the model.

        Raises:
            RuntimeMisconfigured: they are too few.
        """
        ...

    def calls(self, job: RerankJob, laid: Laid) -> list[Call]:
        """The prompts that rank this job, at least one.

        Args:
            job: the job.
            laid: its deck; empty where `deck_size` is 0.

        Raises:
            RankFault: this job cannot be asked this way.
        """
        ...

    def warming(self, job: RerankJob, laid: Laid) -> list[Call]:
        """The cheapest prompts that put into the cache what this session's questions will begin with.

        The job's question is not read.
        """
        ...

    def scores(self, job: RerankJob, laid: Laid, answers: Sequence[Answer]) -> Scores:
        """Read the answers to `calls(job, laid)`, in their order.

        Raises:
            RankFault: they make no sense.
        """
        ...


def talk_pieces(laid: Laid) -> tuple[str, ...]:
    """The conversation as pieces of a prefix, to stand behind the deck."""
    return (TALK, *laid.talk) if laid.talk else ()


def require(labels: Sequence[str], usable: Sequence[str]) -> None:
    """Make sure that every label can be used.

    Raises:
        RuntimeMisconfigured: names those that cannot.
    """
    wrong = [label for label in labels if label not in usable]
    if wrong:
        raise RuntimeMisconfigured(
            f"labels that are no single token of the model: {wrong}; take another model or MEMSIFT_STRATEGY"
        )


def collect(
    values: Sequence[float],
    answers: Sequence[Answer],
    reason: str | None = None,
    evidence: tuple[float, ...] | None = None,
    parts: Parts | None = None,
) -> Scores:
    """Scores of one job with the token counts of its answers."""
    return Scores(
        values=tuple(values),
        evidence=evidence,
        reason=reason,
        parts=parts,
        prompt_tokens=sum(answer.prompt_tokens for answer in answers),
        cached_tokens=sum(answer.cached_tokens for answer in answers),
        output_tokens=sum(answer.output_tokens for answer in answers),
    )
