"""What comes back: a ranking and where it came from."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from enum import StrEnum

from pydantic import Field, FiniteFloat, TypeAdapter

from memsift_schemas.calibration import Curve
from memsift_schemas.deck_use import DeckUse
from memsift_schemas.memory import DEFERRED, Id, KnownId, Model


class Source(StrEnum):
    """Who made a ranking."""

    MODEL = "model"
    PREFILTER = "prefilter"


class Cause(StrEnum):
    """Why the prefilter had to answer, or why a worker refused a job."""

    NO_CANDIDATES = "no_candidates"  # recall found nothing: the ranking is empty
    DEADLINE = "deadline"  # no answer came in time
    EXPIRED = "expired"  # the worker met the job after its deadline
    TOO_LATE = "too_late"  # the worker's recent times say that the job can't be ranked by its deadline
    CANCELLED = "cancelled"  # its caller went away: counted by the worker, replied to nobody
    REDIS_UNAVAILABLE = "redis_unavailable"  # the job could not be enqueued
    BREAKER_OPEN = "breaker_open"  # the calls before it failed in a row: it was not tried
    OVERLOADED = "overloaded"  # behind those that wait already it could not have been answered in time
    QUEUE_FULL = "queue_full"  # the queue holds as many jobs as it may
    CLOSED = "closed"  # the Reranker was closed while the call was in flight
    INVALID_JOB = "invalid_job"  # the worker could not read the job
    UNKNOWN_VERSION = "unknown_version"  # the job's wire version is not one that the worker reads
    UNKNOWN_RANKER = "unknown_ranker"  # the worker does not serve the ranker that the job names
    RUNTIME_UNAVAILABLE = "runtime_unavailable"
    RUNTIME_TIMEOUT = "runtime_timeout"
    RUNTIME_GARBAGE = "runtime_garbage"  # the model answered something that is no ranking
    RANKER_ERROR = "ranker_error"  # the ranker raised
    QUARANTINED = "quarantined"  # the runtime died of a job with this content, twice
    INVALID_REPLY = "invalid_reply"  # the reply is no ranking of this job's candidates


class Ranked(Model):
    """A memory's place.

    Attributes:
        id: the memory's.
        score: orders one ranking; it does not compare across jobs or sources.
        evidence: how much speaks for it, comparable across the jobs of one ranker and model; None in replies
            of older workers.
        relevance: the probability, 0 to 1, that it helps to answer; None where the ranker has no calibration.
    """

    id: KnownId
    score: FiniteFloat
    evidence: FiniteFloat | None = None
    relevance: FiniteFloat | None = Field(default=None, ge=0, le=1)


class Fusion(Model):
    """How a ranker that fuses came to its scores: `score = prior + weight * model`, for each memory it read.

    Attributes:
        weight: of the model beside the prefilter's 1.
        prior: id -> what the prefilter says, as a z-score over the memories that were read.
        model: id -> what the model says, in the strategy's unit.
    """

    weight: FiniteFloat
    prior: dict[KnownId, FiniteFloat]
    model: dict[KnownId, FiniteFloat]


# All places in one call into pydantic take half the time of one call each.
_RANKING = TypeAdapter(tuple[Ranked, ...], config=DEFERRED)


class RerankResult(Model):
    """A ranking of candidates, best first.

    Attributes:
        job_id: the job that it answers.
        ranking: best first; from a worker every candidate of the job, each once.
        source: `model` or `prefilter`.
        cause: why the prefilter answered; None for `model`.
        selected: ids of what belongs into the prompt, best first: the first `top_k` whose relevance is not
            known to be below the job's `min_relevance`. Empty under a ranking that is not: nothing answers.
            None in replies of older workers.
        pruned: ids that the prefilter left out before the model (low score, near-duplicates); filled in by
            the producer.
        reason: the model's own words, where a strategy gives them.
        ranker: which ranker answered.
        model: which model it ran.
        prompt_version: which prompts it asked; changes when a word of them does. "" where it asks none.
        fusion: how its scores came about, where the job asks to be explained and the ranker fuses.
        timings_ms: milliseconds by step: `prefilter`, `queue` until a worker popped it, `place` until the
            ranker began (older workers do not tell), `rank`, and the `total` of the call. What is left of
            the total is the way there and back.
        prompt_tokens: tokens of all prompts of this job.
        cached_tokens: how many of them came from the prefix cache.
        output_tokens: tokens that were generated.
        cost_usd: what this job cost at a paid service; 0 for a model of one's own.
        deck: the session's deck; None where the worker's strategy has none.
    """

    job_id: Id
    ranking: tuple[Ranked, ...]
    source: Source
    cause: Cause | None = None
    selected: tuple[KnownId, ...] | None = None
    pruned: tuple[KnownId, ...] = ()
    reason: str | None = Field(default=None, repr=False)
    ranker: str = ""
    model: str = ""
    prompt_version: str = ""
    fusion: Fusion | None = None
    timings_ms: dict[str, FiniteFloat] = Field(default_factory=dict)
    prompt_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cost_usd: FiniteFloat = Field(default=0.0, ge=0)
    deck: DeckUse | None = None


def ranked(
    places: Iterable[tuple[str, float, float | None]], *, curve: Curve | None = None
) -> tuple[Ranked, ...]:
    """A ranking with what is known of each place's relevance.

    Args:
        places: id, score and evidence, best first; None where there is none.
        curve: turns evidence into relevance; None: none is known.
    """
    return _RANKING.validate_python(
        [
            {
                "id": id_,
                "score": score,
                "evidence": evidence,
                "relevance": curve.probability(evidence) if curve and evidence is not None else None,
            }
            for id_, score, evidence in places
        ]
    )


def select(ranking: Sequence[Ranked], *, top_k: int, min_relevance: float) -> tuple[str, ...]:
    """Ids of the first `top_k` of a ranking whose relevance is not known to be below `min_relevance`.

    Without a calibration no relevance is known, and nothing is left out.
    """
    kept = (place.id for place in ranking if place.relevance is None or place.relevance >= min_relevance)
    return tuple(itertools.islice(kept, top_k))


class Refusal(Model):
    """A worker's word that it will not rank this job; the producer falls back at once."""

    job_id: Id
    cause: Cause
