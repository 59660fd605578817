"""What comes back: a ranking and where it came from."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, FiniteFloat

from memsift_schemas.memory import Id, Model


class Source(StrEnum):
    """Who made a ranking."""

    MODEL = "model"
    PREFILTER = "prefilter"


class Cause(StrEnum):
    """Why the prefilter had to answer, or why a worker refused a job."""

    NO_CANDIDATES = "no_candidates"  # recall found nothing: the ranking is empty
    DEADLINE = "deadline"  # no answer came in time
    EXPIRED = "expired"  # the worker met the job after its deadline
    REDIS_UNAVAILABLE = "redis_unavailable"  # the job could not be enqueued
    CLOSED = "closed"  # the Reranker was closed while the call was in flight
    INVALID_JOB = "invalid_job"  # the worker could not read the job
    UNKNOWN_VERSION = "unknown_version"  # the job's wire version is not one that the worker reads
    UNKNOWN_RANKER = "unknown_ranker"  # the worker does not serve the ranker that the job names
    RUNTIME_UNAVAILABLE = "runtime_unavailable"
    RUNTIME_TIMEOUT = "runtime_timeout"
    RUNTIME_GARBAGE = "runtime_garbage"  # the model answered something that is no ranking
    RANKER_ERROR = "ranker_error"  # the ranker raised
    INVALID_REPLY = "invalid_reply"  # the reply is no ranking of this job's candidates


class Ranked(Model):
    """A memory's place. Scores order one ranking; they do not compare across jobs or sources."""

    id: Id
    score: FiniteFloat


class RerankResult(Model):
    """A ranking of candidates, best first.

    Attributes:
        job_id: the job that it answers.
        ranking: best first; from a worker every candidate of the job, each once.
        source: `model` or `prefilter`.
        cause: why the prefilter answered; None for `model`.
        pruned: ids that the prefilter left out before the model (low score, near-duplicates); filled in by
            the producer.
        reason: the model's own words, where a strategy gives them.
        ranker: which ranker answered.
        model: which model it ran.
        timings_ms: milliseconds by step (prefilter, queue, rank, total, ...).
        prompt_tokens: tokens of all prompts of this job.
        cached_tokens: how many of them came from the prefix cache.
        output_tokens: tokens that were generated.
        cost_usd: what this job cost at a paid service; 0 for a model of one's own.
    """

    job_id: Id
    ranking: tuple[Ranked, ...]
    source: Source
    cause: Cause | None = None
    pruned: tuple[Id, ...] = ()
    reason: str | None = Field(default=None, repr=False)
    ranker: str = ""
    model: str = ""
    timings_ms: dict[str, FiniteFloat] = Field(default_factory=dict)
    prompt_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cost_usd: FiniteFloat = Field(default=0.0, ge=0)


class Refusal(Model):
    """A worker's word that it will not rank this job; the producer falls back at once."""

    job_id: Id
    cause: Cause
