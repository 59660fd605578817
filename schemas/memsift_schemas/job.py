"""What a frontend asks of a worker: to rank memories for a question, or to get ready for one."""

from __future__ import annotations

from typing import Self

from pydantic import (
    AwareDatetime,
    Field,
    FiniteFloat,
    ValidationInfo,
    field_validator,
    model_validator,
)

from memsift_schemas.memory import Id, Memory, Model, ShortText, Turn

MAX_CANDIDATES = 200
MAX_TURNS = 50
MAX_ACTIVITY = 50
MAX_JOB_BYTES = 256 * 1024
DEFAULT_TOP_K = 3
# Of jobs that do not say whose they are; nothing of one may be seen in another.
ANONYMOUS = "anonymous"
DEFAULT_SESSION = "default"


class RerankJob(Model):
    """One question of one user with the memories that recall found; or no question yet, see `warm`.

    Attributes:
        id: unguessable; also the Celery task id.
        user: whose memories these are; separates one user's prefix cache from another's.
        session: the conversation; its turns share a cached prefix, if it is named and the user too.
        warm: nothing is asked yet and nobody is answered: the runtime is to compute the KV of what the
            session's questions will share. Goes on lists of its own, under a task name of its own.
        query: the user's question; not blank, but empty where `warm` is set.
        now: when it was asked, in the user's time zone.
        turns: the conversation before it, oldest first; the last `MAX_TURNS` are kept.
        activity: short recent events such as "opened the calendar", oldest first.
        candidates: at most `MAX_CANDIDATES`, ids unique, in the order in which the prompt shows them.
        prior: the prefilter's score of each candidate, same order; empty when no prefilter ran.
        top_k: how many memories the prompt will hold.
        min_relevance: leave memories out of the prompt that are less probably relevant, 0 to 1; has an effect
            only where the worker has a calibration for the ranker.
        ranker: another ranker that the worker serves; None takes the worker's default.
        explain: the result is to tell how its scores came about.
        deadline: unix seconds on the Redis server's clock; an answer after it is worth nothing.
        sent_at: when it was enqueued, same clock; tells how long it waited.
        trace: trace headers (sentry-trace, baggage, traceparent).
        reply_to: the reply list of the frontend process; None for plain Celery clients.
    """

    id: Id
    user: Id = ANONYMOUS
    session: Id = DEFAULT_SESSION
    warm: bool = False
    query: ShortText = Field(default="", validate_default=True, repr=False)
    now: AwareDatetime
    turns: tuple[Turn, ...] = Field(default=(), repr=False)
    activity: tuple[ShortText, ...] = Field(default=(), repr=False)
    candidates: tuple[Memory, ...] = Field(min_length=1, max_length=MAX_CANDIDATES, repr=False)
    prior: tuple[FiniteFloat, ...] = Field(default=(), repr=False)
    top_k: int = Field(default=DEFAULT_TOP_K, ge=1, le=MAX_CANDIDATES)
    min_relevance: FiniteFloat = Field(default=0.0, ge=0, le=1)
    ranker: str | None = Field(default=None, max_length=64)
    explain: bool = False
    deadline: FiniteFloat = Field(gt=0)
    sent_at: FiniteFloat | None = None
    trace: dict[str, str] = Field(default_factory=dict, repr=False)
    reply_to: str | None = Field(default=None, max_length=200)

    @field_validator("query")
    @classmethod
    def _asks_or_warms(cls, value: str, info: ValidationInfo) -> str:
        if info.data.get("warm"):
            if value:
                raise ValueError("a warm-up has no query")
        elif not value.strip():
            raise ValueError("the query must not be blank")
        return value

    @property
    def is_of_a_session(self) -> bool:
        """Whether it says whose conversation it belongs to, so that others of that one may build on it."""
        return self.user != ANONYMOUS and self.session != DEFAULT_SESSION

    @field_validator("turns")
    @classmethod
    def _last_turns(cls, value: tuple[Turn, ...]) -> tuple[Turn, ...]:
        return value[-MAX_TURNS:]

    @field_validator("activity")
    @classmethod
    def _last_activity(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return value[-MAX_ACTIVITY:]

    @field_validator("candidates")
    @classmethod
    def _unique(cls, value: tuple[Memory, ...]) -> tuple[Memory, ...]:
        if len({memory.id for memory in value}) != len(value):
            raise ValueError("candidate ids must be unique")
        return value

    @model_validator(mode="after")
    def _aligned(self) -> Self:
        if self.prior and len(self.prior) != len(self.candidates):
            raise ValueError("prior needs one score per candidate")
        return self
