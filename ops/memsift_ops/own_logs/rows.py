"""What a log tells of one question: which memories recall brought, and which of them were relevant."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from memsift_ops.datasets import Moment
from memsift_schemas.errors import InvalidInput, describe
from memsift_schemas.memory import Id
from memsift_schemas.text import clean

# Leaves room in an id's 128 characters for what conversion and evaluation put beside it.
MAX_ID, MAX_USER, MAX_LABEL = 100, 64, 64
# What is taken for the id of a memory that recall did not bring. Anything else may be a text with a slip in
# it, which must not become an id: ids are shown where texts are not.
_ID_LIKE = re.compile(rf"[\w.:/@#~+=|-]{{1,{MAX_ID}}}", re.ASCII)


def _plain(value: Any) -> Any:
    """A number as text, text without outer spaces; blank is as good as left out."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return (value.strip() or None) if isinstance(value, str) else value


def _blank_is_none(value: Any) -> Any:
    return None if isinstance(value, str) and not value.strip() else value


def _time(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    try:
        return read(value)
    except ValidationError:
        raise ValueError("is no time; write it as in 2026-03-02T09:30:00+08:00") from None


def _with_words(value: str) -> str:
    if not clean(value).strip():
        raise ValueError("must not be blank")
    return value


def _from_text(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


Text = Annotated[str, AfterValidator(_with_words)]
GivenId = Annotated[Annotated[Id, Field(max_length=MAX_ID)] | None, BeforeValidator(_plain)]
Label = Annotated[Annotated[str, Field(max_length=MAX_LABEL)] | None, BeforeValidator(_plain)]
Time = Annotated[Moment | None, WrapValidator(_time), BeforeValidator(_blank_is_none)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class LogMemory(_Part):
    """A memory that recall brought; all but its text may be missing."""

    id: GivenId = None
    text: Text = Field(repr=False)
    created_at: Time = None
    similarity: Annotated[FiniteFloat | None, BeforeValidator(_blank_is_none)] = None


class LogTurn(_Part):
    """A message before the question."""

    role: Literal["user", "assistant"] = "user"
    text: Text = Field(repr=False)


class LogRow(_Part):
    """One question. A memory may be a plain text, and so may a turn, which then is the user's.

    Attributes:
        relevant: the id of each relevant memory, or its exact text.
    """

    query: Text = Field(repr=False)
    memories: tuple[Annotated[LogMemory, BeforeValidator(_from_text)], ...] = Field(repr=False)
    relevant: tuple[Annotated[str, BeforeValidator(_plain)], ...] = Field(repr=False)
    id: GivenId = None
    user: Annotated[Annotated[Id, Field(max_length=MAX_USER)] | None, BeforeValidator(_plain)] = None
    now: Time = None
    lang: Label = None
    category: Label = None
    turns: tuple[Annotated[LogTurn, BeforeValidator(_from_text)], ...] = Field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the log whose relevant memories are known by their places.

    Attributes:
        line: of the file, from 1.
        row: as it was read.
        relevant: places in `row.memories`.
        missed: ids of relevant memories that recall did not bring.
    """

    line: int
    row: LogRow = field(repr=False)
    relevant: frozenset[int]
    missed: tuple[str, ...] = ()

    @property
    def newest(self) -> datetime | None:
        """When the newest of its memories was made, as far as that is known."""
        return max((memory.created_at for memory in self.row.memories if memory.created_at), default=None)


Kind = TypeVar("Kind", bound=_Part)


def checked(kind: type[Kind], line: int, data: dict[str, Any]) -> Kind:
    """Read a part.

    Raises:
        InvalidInput: it is wrong; names line and field, never a value.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise InvalidInput(f"line {line}: {describe(error)}") from None


def resolved(line: int, row: LogRow) -> Question:
    """Find the relevant memories among those that recall brought, by id and else by exact text.

    Raises:
        InvalidInput: two memories have the same id, or what is relevant cannot be told.
    """
    check_ids(line, row)
    places, missed = set[int](), list[str]()
    for at, name in enumerate(row.relevant):
        found = [place for place, memory in enumerate(row.memories) if memory.id == name] or [
            place for place, memory in enumerate(row.memories) if memory.text.strip() == name
        ]
        if not found and not (_ID_LIKE.fullmatch(name) and all(memory.id for memory in row.memories)):
            raise InvalidInput(
                f"line {line}: relevant.{at}: names none of the memories; give an id, or the exact text"
            )
        places.update(found)
        missed += [] if found else [name]
    return Question(line, row, frozenset(places), tuple(dict.fromkeys(missed)))


def check_ids(line: int, row: LogRow) -> None:
    """Make sure that no two memories of a question have the same id.

    Raises:
        InvalidInput: two have.
    """
    first: dict[str, int] = {}
    for at, memory in enumerate(row.memories):
        if memory.id is not None and first.setdefault(memory.id, at) != at:
            other = f"memories.{first[memory.id]}"
            raise InvalidInput(f"line {line}: memories.{at}.id: the same as that of {other}")
