"""All that happens before a job is sent, free of I/O: check, prefilter, build the job and its message."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memsift_producer.fallback import Fallback
from memsift_producer.prefilter import Prefiltered, by_kind, prefilter
from memsift_producer.question import Limits, Question, check, check_limits, check_warm_up
from memsift_schemas import message, sealing, wire
from memsift_schemas.calibration import PREFILTER, Calibration
from memsift_schemas.clock import Clock
from memsift_schemas.job import RerankJob
from memsift_schemas.memory import Memory
from memsift_schemas.result import Cause, RerankResult, Source, ranked, select
from memsift_schemas.sealing import KeyRing

if TYPE_CHECKING:
    from memsift_schemas.settings import ProducerSettings


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that is ready to be sent, and its answer should nothing come back.

    Attributes:
        job: what is asked; None when there is nothing to rank.
        message: the Celery message to push.
        fallback: the prefilter's ranking.
        by_id: the memories that were given.
        top_k: how many memories the prompt holds.
        min_relevance: what is known to be less probably relevant is left out of it.
        time_left: seconds from the start of the call to its deadline.
        found: what the prefilter found; None when there is nothing to rank.
        timings_ms: what that took.
    """

    job: RerankJob | None
    message: bytes = field(repr=False)
    fallback: Fallback = field(repr=False)
    by_id: Mapping[str, Memory] = field(repr=False)
    top_k: int
    min_relevance: float
    time_left: float
    found: Prefiltered | None = field(default=None, repr=False)
    timings_ms: Mapping[str, float] = field(default_factory=dict)

    @property
    def pruned(self) -> tuple[str, ...]:
        """Ids that the prefilter left out."""
        return () if self.found is None else self.found.pruned


@dataclass(frozen=True, slots=True)
class Draft:
    """A call that has been checked, and its memories ranked by the prefilter.

    Attributes:
        asked: the job with every memory that was given; None when there are none.
        found: what the prefilter found; None when there is nothing to rank.
        limits: what applies to the call.
        ms: what this took.
    """

    asked: RerankJob | None
    found: Prefiltered | None = field(repr=False)
    limits: Limits
    ms: float


def prepare(
    question: Question,
    *,
    settings: ProducerSettings,
    reply_to: str,
    clock: Clock,
    calibration: Calibration,
    ring: KeyRing | None = None,
) -> Prepared:
    """Turn a question into a message and a fallback: `draft`, then `pack`.

    Raises:
        InvalidInput: an argument is wrong; says which, never its text.
    """
    __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
    drafted = draft(question, settings=settings, reply_to=reply_to, clock=clock)
    return pack(drafted, settings=settings, clock=clock, calibration=calibration, ring=ring)


def draft(question: Question, *, settings: ProducerSettings, reply_to: str, clock: Clock) -> Draft:
    """Check a question and rank its memories by the prefilter.

    Args:
        question: what the frontend asks.
        settings: prefilter weights, default deadline and top_k.
        reply_to: the reply list of this process.
        clock: the Redis server's clock, for the absolute deadline.

    Raises:
        InvalidInput: an argument is wrong; says which, never its text.
    """
    __tracebackhide__ = True
    started = clock.monotonic()
    limits = check_limits(question, settings)
    if not question.memories:
        return Draft(None, None, limits, 0.0)
    explain = bool(settings.decision_log)
    asked = check(question, limits, reply_to=reply_to, now=clock.time(), explain=explain)
    found = prefilter(
        asked.query,
        asked.candidates,
        now=asked.now,
        settings=settings,
        keep=settings.kept_for(asked.ranker),
        query_embedding=question.query_embedding,
    )
    return Draft(asked, found, limits, (clock.monotonic() - started) * 1e3)


def pack(
    drafted: Draft,
    *,
    settings: ProducerSettings,
    clock: Clock,
    calibration: Calibration,
    ring: KeyRing | None = None,
) -> Prepared:
    """Write the message, and have a fallback ready.

    Args:
        drafted: the call.
        settings: the queue's name.
        clock: the Redis server's clock.
        calibration: tells how probably relevant what the prefilter found is.
        ring: seals the job.

    Raises:
        JobTooLarge: it has more text than a job may have.
    """
    __tracebackhide__ = True
    asked, found, limits = drafted.asked, drafted.found, drafted.limits
    if asked is None or found is None:
        return _nothing(limits)
    job = _with_candidates(asked, found, sent_at=clock.time())
    timings = {"prefilter": drafted.ms}

    def fallback() -> RerankResult:
        places = zip((memory.id for memory in found.kept), found.scores, found.evidence, strict=True)
        ranking = ranked(places, curve=calibration.curve(PREFILTER))
        return RerankResult(
            job_id=job.id,
            ranking=ranking,
            source=Source.PREFILTER,
            selected=select(ranking, top_k=limits.top_k, min_relevance=limits.min_relevance),
            pruned=found.pruned,
            timings_ms=timings,
        )

    return Prepared(
        job,
        _message(job, settings.queue, ring),
        Fallback(fallback),
        _by_id(asked),
        *limits,
        found,
        timings,
    )


def prepare_as_given(question: Question, *, settings: ProducerSettings, clock: Clock) -> Prepared:
    """An answer that costs next to nothing, and no job: the memories in the order in which recall found them.

    Args:
        question: what the frontend asks; all of it is checked.
        settings: default deadline and top_k.
        clock: tells the time.

    Raises:
        InvalidInput: an argument is wrong; says which, never its text.
    """
    __tracebackhide__ = True
    limits = check_limits(question, settings)
    if not question.memories:
        return _nothing(limits)
    asked = check(question, limits, reply_to=None, now=clock.time())
    ranking = ranked((memory.id, float(-place), None) for place, memory in enumerate(asked.candidates))
    result = RerankResult(
        job_id=asked.id,
        ranking=ranking,
        source=Source.PREFILTER,
        cause=Cause.OVERLOADED,
        selected=select(ranking, top_k=limits.top_k, min_relevance=limits.min_relevance),
    )
    return Prepared(None, b"", Fallback(lambda: result), _by_id(asked), *limits)


def prepare_warm_up(
    question: Question, *, settings: ProducerSettings, clock: Clock, ring: KeyRing | None = None
) -> tuple[RerankJob, bytes]:
    """A job without a query, and its message; the memories are chosen and ordered as for a question.

    Args:
        question: what the frontend knows when the conversation opens.
        settings: of the prefilter.
        clock: the Redis server's clock.
        ring: seals the job.

    Raises:
        InvalidInput: an argument is wrong; says which, never its text.
    """
    __tracebackhide__ = True
    asked = check_warm_up(question, now=clock.time())
    found = prefilter(
        "", asked.candidates, now=asked.now, settings=settings, keep=settings.kept_for(asked.ranker)
    )
    job = _with_candidates(asked, found, sent_at=clock.time())
    return job, _message(job, settings.queue, ring)


def _nothing(limits: Limits) -> Prepared:
    empty = RerankResult(
        job_id=uuid.uuid4().hex, ranking=(), source=Source.PREFILTER, cause=Cause.NO_CANDIDATES
    )
    return Prepared(None, b"", Fallback(lambda: empty), {}, *limits)


def _by_id(job: RerankJob) -> dict[str, Memory]:
    return {memory.id: memory for memory in job.candidates}


def _message(job: RerankJob, queue: str, ring: KeyRing | None) -> bytes:
    encoded = sealing.seal_job(ring, wire.encode_job(job), job_id=job.id, reply_to=job.reply_to)
    return message.build(job, encoded, queue)


def _with_candidates(asked: RerankJob, found: Prefiltered, *, sent_at: float) -> RerankJob:
    """Only what the prefilter kept, in the prompt's order, with the prefilter's scores beside it."""
    score = {memory.id: value for memory, value in zip(found.kept, found.scores, strict=True)}
    candidates = tuple(by_kind(found.kept))
    prior = tuple(score[memory.id] for memory in candidates)
    return asked.model_copy(update={"candidates": candidates, "prior": prior, "sent_at": sent_at})
