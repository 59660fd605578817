"""What the drain asks of a ranker, and what it accepts as an answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from memsift_schemas.calibration import Curve
from memsift_schemas.deck_use import DeckUse
from memsift_schemas.job import RerankJob
from memsift_schemas.result import Cause, Fusion, RerankResult, Source, ranked, select


class RankFault(Exception):
    """A job could not be ranked; its caller falls back with this cause. Holds no text of the job.

    Attributes:
        cause: what the caller is told.
        blamed: the runtime, healthy just before, died while it had this job alone.
    """

    def __init__(self, cause: Cause, detail: str = "", *, blamed: bool = False) -> None:
        super().__init__(f"{cause.value}: {detail}" if detail else cause.value)
        self.cause = cause
        self.blamed = blamed


@dataclass(frozen=True, slots=True)
class Parts:
    """What fused scores are made of: `values[at] == prior[at] + weight * model[at]` for each place read.

    Attributes:
        weight: of the model beside the prefilter's 1.
        prior: place in the job -> the prefilter's part.
        model: place in the job -> the model's part, before its weight.
    """

    weight: float
    prior: Mapping[int, float]
    model: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Scores:
    """One score per candidate of a job, in the job's order; higher is better.

    Attributes:
        values: finite numbers that order this job's candidates, comparable within it alone.
        evidence: one finite number per candidate, comparable across jobs of this ranker and model; None: the
            values are.
        reason: the model's words, where a strategy gives them.
        prompt_tokens: tokens of all prompts of this job.
        cached_tokens: how many of them came from the prefix cache.
        output_tokens: tokens that were generated.
        cost_usd: what this job cost at a paid service.
        deck: the session's deck, where a strategy has one.
        parts: what the values are made of, where they are fused.
    """

    values: tuple[float, ...]
    evidence: tuple[float, ...] | None = None
    reason: str | None = field(default=None, repr=False)
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    deck: DeckUse | None = None
    parts: Parts | None = None


Outcome = Scores | RankFault


@runtime_checkable
class Ranker(Protocol):
    """Ranks the jobs of one micro-batch."""

    @property
    def name(self) -> str:
        """What a job's `ranker` calls it."""
        ...

    @property
    def model(self) -> str:
        """The model behind it, known after `start`."""
        ...

    async def start(self) -> None:
        """Get ready; returns when the first job will be fast. A second call does nothing.

        Raises:
            RuntimeFault: as `Runtime.start`.
        """
        ...

    async def rank(self, jobs: Sequence[RerankJob], *, timeout: float) -> list[Outcome]:
        """Score the candidates of every job.

        Args:
            jobs: one micro-batch.
            timeout: seconds after which nobody waits for any of them.

        Returns:
            One outcome per job, in order. A job that cannot be ranked gets a fault of its own.
        """
        ...

    async def close(self) -> None:
        """Give back what `start` took."""
        ...


@runtime_checkable
class Warmable(Protocol):
    """A ranker that can get a runtime ready before a question comes."""

    async def warm(self, jobs: Sequence[RerankJob], *, timeout: float) -> None:
        """Compute the KV of what later questions of these jobs' sessions share. Best effort.

        Cancelling it gives the runtime back at once: a question has come.

        Args:
            jobs: with `warm` set, so without a query.
            timeout: seconds after which it ends, done or not.

        Raises:
            RuntimeFault: the runtime could not; nobody waits for the reason.
        """
        ...


def prompt_version(ranker: Ranker) -> str:
    """Which prompts a ranker asks, if it says so; "" for one that asks none."""
    return str(getattr(ranker, "prompt_version", ""))


def to_result(job: RerankJob, scores: Scores, ranker: Ranker, *, curve: Curve | None = None) -> RerankResult:
    """Check scores and turn them into the ranking that may leave the worker.

    Ties keep the prefilter's order, so that the same scores always give the same ranking.

    Args:
        job: what was asked.
        scores: the ranker's answer.
        ranker: who gave it.
        curve: turns this ranker's evidence into relevance.

    Raises:
        RankFault: not one finite number per candidate.
    """
    evidence = scores.values if scores.evidence is None else scores.evidence
    for numbers in (scores.values, evidence):
        if len(numbers) != len(job.candidates):
            raise RankFault(
                Cause.RUNTIME_GARBAGE, f"{len(numbers)} numbers for {len(job.candidates)} memories"
            )
        if not all(map(math.isfinite, numbers)):
            raise RankFault(Cause.RUNTIME_GARBAGE, "a score is not a finite number")
    prior = job.prior or tuple(range(len(job.candidates), 0, -1))
    keys = [(-value, -before) for value, before in zip(scores.values, prior, strict=True)]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    places = ((job.candidates[at].id, scores.values[at], evidence[at]) for at in order)
    ranking = ranked(places, curve=curve)
    return RerankResult(
        job_id=job.id,
        ranking=ranking,
        source=Source.MODEL,
        selected=select(ranking, top_k=job.top_k, min_relevance=job.min_relevance),
        reason=scores.reason,
        ranker=ranker.name,
        model=ranker.model,
        prompt_version=prompt_version(ranker),
        fusion=_fusion(job, scores.parts) if job.explain and scores.parts else None,
        prompt_tokens=scores.prompt_tokens,
        cached_tokens=scores.cached_tokens,
        output_tokens=scores.output_tokens,
        cost_usd=scores.cost_usd,
        deck=scores.deck,
    )


def _fusion(job: RerankJob, parts: Parts) -> Fusion:
    ids = [memory.id for memory in job.candidates]
    return Fusion(
        weight=parts.weight,
        prior={ids[at]: value for at, value in parts.prior.items()},
        model={ids[at]: value for at, value in parts.model.items()},
    )
