"""All that happens before a job is sent, free of I/O: check, prefilter, build the job and its message."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic import ValidationError

from memsift_producer.prefilter import Prefiltered, by_kind, prefilter
from memsift_schemas import message, otel, sealing, sentry, wire
from memsift_schemas.calibration import PREFILTER, Calibration
from memsift_schemas.clock import Clock
from memsift_schemas.errors import InvalidInput, describe
from memsift_schemas.job import ANONYMOUS, DEFAULT_SESSION, RerankJob
from memsift_schemas.memory import Memory, Turn
from memsift_schemas.result import Cause, RerankResult, Source, ranked, select
from memsift_schemas.sealing import KeyRing
from memsift_schemas.settings import ProducerSettings

MAX_DEADLINE_S = 600.0
# A warm-up that has found no quiet moment for so long is dropped: the first question has probably come.
WARM_S = 5.0


@dataclass(frozen=True, slots=True)
class Question:
    """The arguments of one `rerank()` call, as the frontend gave them; see `Reranker.rerank`."""

    query: str = field(repr=False)
    memories: Sequence[Memory | Mapping[str, Any]] = field(repr=False)
    user: str = ANONYMOUS
    session: str = DEFAULT_SESSION
    turns: Sequence[Turn | Mapping[str, Any]] = field(default=(), repr=False)
    activity: Sequence[str] = field(default=(), repr=False)
    top_k: int | None = None
    deadline: float | None = None
    min_relevance: float | None = None
    now: datetime | None = None
    ranker: str | None = None
    query_embedding: Sequence[float] | None = field(default=None, repr=False)


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
    """

    job: RerankJob | None
    message: bytes = field(repr=False)
    fallback: RerankResult
    by_id: Mapping[str, Memory] = field(repr=False)
    top_k: int
    min_relevance: float
    time_left: float
    found: Prefiltered | None = field(default=None, repr=False)


def prepare(
    question: Question,
    *,
    settings: ProducerSettings,
    reply_to: str,
    clock: Clock,
    calibration: Calibration,
    ring: KeyRing | None = None,
) -> Prepared:
    """Turn a question into a message and a fallback.

    Args:
        question: what the frontend asks.
        settings: prefilter weights, default deadline and top_k.
        reply_to: the reply list of this process.
        clock: the Redis server's clock, for the absolute deadline.
        calibration: tells how probably relevant what the prefilter found is.
        ring: seals the job.

    Raises:
        InvalidInput: an argument is wrong; says which, never its text.
    """
    __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
    started = clock.monotonic()
    limits = _limits(question, settings)
    if not question.memories:
        return _nothing(limits)
    explain = bool(settings.decision_log)
    asked = _asked(question, limits, reply_to=reply_to, now=clock.time(), explain=explain)
    found = prefilter(
        asked.query,
        asked.candidates,
        now=asked.now,
        settings=settings,
        keep=settings.kept_for(asked.ranker),
        query_embedding=question.query_embedding,
    )
    job = _with_candidates(asked, found, sent_at=clock.time())
    raw = _message(job, settings.queue, ring)
    places = zip((memory.id for memory in found.kept), found.scores, found.evidence, strict=True)
    ranking = ranked(places, curve=calibration.curve(PREFILTER))
    fallback = RerankResult(
        job_id=job.id,
        ranking=ranking,
        source=Source.PREFILTER,
        selected=select(ranking, top_k=limits.top_k, min_relevance=limits.min_relevance),
        pruned=found.pruned,
        timings_ms={"prefilter": (clock.monotonic() - started) * 1e3},
    )
    return Prepared(job, raw, fallback, _by_id(asked), *limits, found)


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
    limits = _limits(question, settings)
    if not question.memories:
        return _nothing(limits)
    asked = _asked(question, limits, reply_to=None, now=clock.time())
    ranking = ranked((memory.id, float(-place), None) for place, memory in enumerate(asked.candidates))
    result = RerankResult(
        job_id=asked.id,
        ranking=ranking,
        source=Source.PREFILTER,
        cause=Cause.OVERLOADED,
        selected=select(ranking, top_k=limits.top_k, min_relevance=limits.min_relevance),
    )
    return Prepared(None, b"", result, _by_id(asked), *limits)


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
    asked = _validated(question, {"warm": True}, reply_to=None, now=clock.time(), time_left=WARM_S)
    found = prefilter(
        "", asked.candidates, now=asked.now, settings=settings, keep=settings.kept_for(asked.ranker)
    )
    job = _with_candidates(asked, found, sent_at=clock.time())
    return job, _message(job, settings.queue, ring)


class _Limits(NamedTuple):
    """What applies to a question: its own word, else the setting's."""

    top_k: int
    min_relevance: float
    time_left: float


def _limits(question: Question, settings: ProducerSettings) -> _Limits:
    time_left = settings.deadline_ms / 1e3 if question.deadline is None else float(question.deadline)
    if not 0 < time_left <= MAX_DEADLINE_S:
        raise InvalidInput(f"deadline: must be seconds from now, above 0 and at most {MAX_DEADLINE_S:g}")
    top_k = settings.top_k if question.top_k is None else question.top_k
    least = settings.min_relevance if question.min_relevance is None else question.min_relevance
    return _Limits(top_k, least, time_left)


def _nothing(limits: _Limits) -> Prepared:
    empty = RerankResult(
        job_id=uuid.uuid4().hex, ranking=(), source=Source.PREFILTER, cause=Cause.NO_CANDIDATES
    )
    return Prepared(None, b"", empty, {}, *limits)


def _asked(
    question: Question, limits: _Limits, *, reply_to: str | None, now: float, explain: bool = False
) -> RerankJob:
    __tracebackhide__ = True
    more = {"top_k": limits.top_k, "min_relevance": limits.min_relevance, "explain": explain}
    return _validated(question, more, reply_to=reply_to, now=now, time_left=limits.time_left)


def _by_id(job: RerankJob) -> dict[str, Memory]:
    return {memory.id: memory for memory in job.candidates}


def _message(job: RerankJob, queue: str, ring: KeyRing | None) -> bytes:
    encoded = sealing.seal_job(ring, wire.encode_job(job), job_id=job.id, reply_to=job.reply_to)
    return message.build(job, encoded, queue)


def _validated(
    question: Question, limits: Mapping[str, Any], *, reply_to: str | None, now: float, time_left: float
) -> RerankJob:
    """The job with every memory that was given; all limits are the schema's."""
    __tracebackhide__ = True
    try:
        return RerankJob.model_validate(
            {
                "id": uuid.uuid4().hex,
                "user": question.user,
                "session": question.session,
                "query": question.query,
                "now": question.now or datetime.now(UTC),
                "turns": tuple(question.turns),
                "activity": tuple(question.activity),
                "candidates": tuple(question.memories),
                **limits,
                "ranker": question.ranker,
                "deadline": now + time_left,
                "trace": _trace(),
                "reply_to": reply_to,
            }
        )
    except ValidationError as error:
        # The caller knows them as `memories`.
        raise InvalidInput(describe(error).replace("candidates", "memories")) from None


def _with_candidates(asked: RerankJob, found: Prefiltered, *, sent_at: float) -> RerankJob:
    """Only what the prefilter kept, in the prompt's order, with the prefilter's scores beside it."""
    score = {memory.id: value for memory, value in zip(found.kept, found.scores, strict=True)}
    candidates = tuple(by_kind(found.kept))
    prior = tuple(score[memory.id] for memory in candidates)
    return asked.model_copy(update={"candidates": candidates, "prior": prior, "sent_at": sent_at})


def _trace() -> dict[str, str]:
    """The headers that let a worker continue this trace, in Sentry and in OpenTelemetry."""
    found = otel.headers()
    if (sdk := sentry.sdk()) is not None:
        headers = {"sentry-trace": sdk.get_traceparent(), "baggage": sdk.get_baggage()}
        found |= {name: value for name, value in headers.items() if value}
    return found
