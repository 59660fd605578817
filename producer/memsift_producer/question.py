"""The arguments of a call, and the job that they make; all that a caller can get wrong is found here."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from memsift_schemas import otel, sentry
from memsift_schemas.errors import InvalidInput, describe
from memsift_schemas.job import ANONYMOUS, DEFAULT_SESSION, RerankJob
from memsift_schemas.memory import Memory, Turn

if TYPE_CHECKING:
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


class Limits(NamedTuple):
    """What applies to a question: its own word, else the setting's."""

    top_k: int
    min_relevance: float
    time_left: float


def check_limits(question: Question, settings: ProducerSettings) -> Limits:
    """What applies to a question.

    Args:
        question: what the frontend asks.
        settings: what applies where it does not say.

    Raises:
        InvalidInput: its deadline is none.
    """
    time_left = settings.deadline_ms / 1e3 if question.deadline is None else float(question.deadline)
    if not 0 < time_left <= MAX_DEADLINE_S:
        raise InvalidInput(f"deadline: must be seconds from now, above 0 and at most {MAX_DEADLINE_S:g}")
    top_k = settings.top_k if question.top_k is None else question.top_k
    least = settings.min_relevance if question.min_relevance is None else question.min_relevance
    return Limits(top_k, least, time_left)


def check(
    question: Question, limits: Limits, *, reply_to: str | None, now: float, explain: bool = False
) -> RerankJob:
    """The job with every memory that was given; all its limits are the schema's.

    Args:
        question: what the frontend asks.
        limits: what applies to it.
        reply_to: the reply list of this process.
        now: unix seconds on the Redis server's clock.
        explain: the result is to tell how its scores came about.

    Raises:
        InvalidInput: an argument is wrong; says which, never its text.
    """
    __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
    more = {"top_k": limits.top_k, "min_relevance": limits.min_relevance, "explain": explain}
    return _validated(question, more, reply_to=reply_to, now=now, time_left=limits.time_left)


def check_warm_up(question: Question, *, now: float) -> RerankJob:
    """As `check`, for a job without a query.

    Args:
        question: what the frontend knows when the conversation opens.
        now: unix seconds on the Redis server's clock.

    Raises:
        InvalidInput: an argument is wrong; says which, never its text.
    """
    __tracebackhide__ = True
    return _validated(question, {"warm": True}, reply_to=None, now=now, time_left=WARM_S)


def _validated(
    question: Question, limits: Mapping[str, Any], *, reply_to: str | None, now: float, time_left: float
) -> RerankJob:
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


def _trace() -> dict[str, str]:
    """The headers that let a worker continue this trace, in Sentry and in OpenTelemetry."""
    found = otel.headers()
    if (sdk := sentry.sdk()) is not None:
        headers = {"sentry-trace": sdk.get_traceparent(), "baggage": sdk.get_baggage()}
        found |= {name: value for name, value in headers.items() if value}
    return found
