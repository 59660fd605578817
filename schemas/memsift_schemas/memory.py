"""A memory as recall hands it over, and the turns of the conversation around the question."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    model_validator,
)

from memsift_schemas.text import NOT_BLANK_PATTERN, clean, cut, is_clean

MAX_MEMORY_CHARS = 2_000
MAX_ID_CHARS = 128
# Of type adapters: as `Model`, built when first used.
DEFERRED = ConfigDict(defer_build=True)


class Model(BaseModel):
    """Base of everything on the wire: frozen, tolerant of new fields, silent about values in its errors."""

    # Built when first used, or by `get_ready`: a frontend's import does not wait for what it never reads.
    model_config = ConfigDict(
        frozen=True, extra="ignore", hide_input_in_errors=True, allow_inf_nan=False, defer_build=True
    )


def _clean_id(value: str) -> str:
    # Nothing that is printable is white space but for the plain blank.
    if value.isprintable() and value[0] != " " and value[-1] != " ":
        return value
    if not is_clean(value) or value != value.strip():
        raise ValueError("an id must not hold control characters, lone surrogates or outer spaces")
    return value


def _clean_text(value: Any) -> Any:
    return clean(value) if isinstance(value, str) else value


def _shorten(value: str) -> str:
    return cut(value, MAX_MEMORY_CHARS)[0]


# The pattern says to readers of a JSON schema what `_clean_id` holds, but for tabs and line breaks inside.
_ID_PATTERN = r"^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$"
# In answers: an id that its job was checked to have, and that whoever asked compares with its own.
KnownId = Annotated[
    str, Field(min_length=1, max_length=MAX_ID_CHARS, json_schema_extra={"pattern": _ID_PATTERN})
]
Id = Annotated[KnownId, AfterValidator(_clean_id)]
# Text that is cleaned and cut to the length of a memory: turns, activity, the query.
ShortText = Annotated[str, BeforeValidator(_clean_text), AfterValidator(_shorten)]


class Kind(StrEnum):
    """What sort of thing a memory says; decides its place in the prompt."""

    TIME_BOUND = "time-bound"
    PREFERENCE = "preference"
    FACT = "fact"
    UNKNOWN = "unknown"


class Memory(Model):
    """One memory snippet of one user.

    Attributes:
        id: unique within a job.
        text: cleaned of control characters; over `MAX_MEMORY_CHARS` it is cut at a sentence.
        created_at: when it was learned; a time zone is required, since "yesterday" depends on it. None where
            nobody knows: it must be said, so that a forgotten time is no unknown one.
        kind: `unknown` lets the prefilter guess.
        similarity: the vector store's similarity to the query, on any scale; finite.
        embedding: the memory's vector; used by the prefilter alone and never sent to a worker.
        truncated: set when the text was cut.
    """

    id: Id
    text: str = Field(repr=False, json_schema_extra={"pattern": NOT_BLANK_PATTERN})
    created_at: AwareDatetime | None
    kind: Kind = Kind.UNKNOWN
    similarity: FiniteFloat | None = None
    embedding: tuple[FiniteFloat, ...] | None = Field(default=None, repr=False)
    truncated: bool = False

    @model_validator(mode="before")
    @classmethod
    def _fit_text(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(given := data.get("text"), str):
            return data
        if given.isprintable() and len(given) <= MAX_MEMORY_CHARS and given and not given.isspace():
            return data  # the usual case, and the hot path of worker and frontend
        text, was_cut = cut(clean(given), MAX_MEMORY_CHARS)
        if not text or text.isspace():
            raise ValueError("a memory's text must not be blank")
        return {**data, "text": text, "truncated": was_cut or data.get("truncated", False)}


class Turn(Model):
    """One message of the conversation that the question belongs to."""

    role: Literal["user", "assistant"]
    text: ShortText = Field(repr=False)
