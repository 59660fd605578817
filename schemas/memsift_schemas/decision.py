"""The decision log's lines: what a call was answered with, and why; and what was said of the answer later.

JSON lines. Without `MEMSIFT_DECISION_LOG_TEXT_KEYS` they hold ids, numbers and names of rankers, never text;
with it, `text` is sealed (`sealing`, direction `decision`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import orjson
from pydantic import AwareDatetime, Field, FiniteFloat, TypeAdapter, ValidationError

from memsift_schemas.errors import InvalidInput, describe
from memsift_schemas.memory import DEFERRED, Id, Memory, Model, ShortText, Turn
from memsift_schemas.result import Cause, Source

VERSION: Literal[1] = 1


class Weighed(Model):
    """What became of one memory.

    Attributes:
        id: the memory's.
        similarity: the vector signal, as a z-score over all that are no duplicates; None where missing.
        recency: likewise.
        keyword: likewise.
        prefilter: their weighted mean; None for a duplicate.
        prefilter_place: from 1; None for a duplicate.
        duplicate_of: the newer memory that says the same.
        sent: went on to the ranker.
        prior: the prefilter's part of the fused score.
        model: the model's part of it, before its weight.
        score: by which the final ranking is ordered; None for what was not sent.
        evidence: as in `Ranked`.
        relevance: as in `Ranked`.
        place: in the final ranking, from 1.
        picked: belongs into the prompt.
    """

    id: Id
    similarity: FiniteFloat | None = None
    recency: FiniteFloat | None = None
    keyword: FiniteFloat | None = None
    prefilter: FiniteFloat | None = None
    prefilter_place: int | None = None
    duplicate_of: Id | None = None
    sent: bool = False
    prior: FiniteFloat | None = None
    model: FiniteFloat | None = None
    score: FiniteFloat | None = None
    evidence: FiniteFloat | None = None
    relevance: FiniteFloat | None = None
    place: int | None = None
    picked: bool = False


class Weights(Model):
    """The prefilter's settings when it decided."""

    vector: FiniteFloat
    recency: FiniteFloat
    keyword: FiniteFloat
    half_life_days: FiniteFloat
    keep: int


class Sealed(Model):
    """What `KeyRing.seal` made of a `DecisionText`."""

    key: str
    sealed: str = Field(repr=False)


class DecisionText(Model):
    """What a call was about; stands in the log sealed, or not at all.

    Attributes:
        query: the question.
        now: when it was asked.
        turns: the conversation before it.
        activity: recent events.
        memories: all that were given, with the similarity that the prefilter took, without embeddings.
        reason: the model's own words; they may quote memories.
    """

    query: ShortText = Field(repr=False)
    now: AwareDatetime
    turns: tuple[Turn, ...] = Field(default=(), repr=False)
    activity: tuple[ShortText, ...] = Field(default=(), repr=False)
    memories: tuple[Memory, ...] = Field(repr=False)
    reason: str | None = Field(default=None, repr=False)


class Decision(Model):
    """One call.

    Attributes:
        at: when it was answered, on the Redis server's clock.
        job: its id.
        user: keyed hash of the user's name; None where no key is set.
        session: likewise.
        source: who ranked.
        cause: why the prefilter did.
        asked: the ranker that the call named; None for the workers' default one.
        ranker: who answered; "" for the prefilter.
        model: which model it ran.
        prompt_version: which prompts it asked.
        top_k: how many memories the prompt holds.
        min_relevance: what is known to be less probably relevant is left out of it.
        deadline_ms: the time that the call had.
        weights: the prefilter's.
        fusion_weight: of the model beside the prefilter's 1; None where nothing was fused.
        timings_ms: milliseconds by step.
        prompt_tokens: as in `RerankResult`, like the next three.
        memories: what became of each that was given, in the final order, then what was left out.
        text: what it was about, sealed.
    """

    kind: Literal["decision"] = "decision"
    v: Literal[1] = VERSION
    at: AwareDatetime
    job: Id
    user: str | None = None
    session: str | None = None
    source: Source
    cause: Cause | None = None
    asked: str | None = None
    ranker: str = ""
    model: str = ""
    prompt_version: str = ""
    top_k: int
    min_relevance: FiniteFloat = 0.0
    deadline_ms: FiniteFloat
    weights: Weights
    fusion_weight: FiniteFloat | None = None
    timings_ms: dict[str, FiniteFloat] = Field(default_factory=dict)
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: FiniteFloat = 0.0
    memories: tuple[Weighed, ...] = ()
    text: Sealed | None = None

    @property
    def picked(self) -> tuple[str, ...]:
        """Ids of what went into the prompt, best first."""
        return tuple(memory.id for memory in self.memories if memory.picked)


class Told(Model):
    """Feedback on a call.

    Attributes:
        at: when it came.
        job: the call's id.
        used: ids of the memories that the answer used.
        missed: ids of memories that should have been in the prompt.
    """

    kind: Literal["feedback"] = "feedback"
    v: Literal[1] = VERSION
    at: AwareDatetime
    job: Id
    used: tuple[Id, ...] = ()
    missed: tuple[Id, ...] = ()


class Gap(Model):
    """Lines that are missing here: the disk was too slow, full, or away.

    Attributes:
        at: when writing went on.
        dropped: how many.
    """

    kind: Literal["gap"] = "gap"
    v: Literal[1] = VERSION
    at: AwareDatetime
    dropped: int


Line = Decision | Told | Gap
_LINE: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="kind")], config=DEFERRED)


def encode(line: Line) -> bytes:
    """A line of the log, with its end. `kind` and `v` are in it always."""
    body = line.model_dump_json(exclude_defaults=True)
    return f'{{"kind":"{line.kind}","v":{line.v},{body[1:]}\n'.encode()


def decode(raw: bytes) -> Line:
    """Read a line.

    Raises:
        InvalidInput: it is none, or of a later release; says where, never a value.
    """
    try:
        data: Any = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise InvalidInput("is no JSON") from None
    try:
        return _LINE.validate_python(data)
    except ValidationError as error:
        raise InvalidInput(describe(error, most=3)) from None
