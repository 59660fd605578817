"""Reads evaluation sets: questions with labelled memories and a recall of candidates.

A set NAME is two files of JSON lines in one folder. `NAME.memories.jsonl` has
`{id, pool, text, created_at}` and `NAME.queries.jsonl` has
`{id, lang, now, query, context[], pool, gold[], candidates[], similarity[]}`. Times without a zone are UTC.
A context line is "Name: text"; the name "Assistant" is the assistant, any other the user.

Where recall gives no similarity it is null, or left out for all.

A query whose `gold` is empty is one that no memory answers. A set NAME without a memories file of its own
takes that of the longest other set name which NAME continues after a "_" (`locomo_abstain` that of `locomo`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from memsift_schemas.errors import InvalidInput, describe
from memsift_schemas.memory import Memory, Turn

QUERIES, MEMORIES = ".queries.jsonl", ".memories.jsonl"


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Moment = Annotated[datetime, AfterValidator(_in_utc)]


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class _MemoryRow(_Row):
    id: str
    text: str = Field(repr=False)
    created_at: Moment


class _GoldRow(_Row):
    gold: tuple[str, ...]


class _QueryRow(_Row):
    id: str
    lang: str = ""
    category: str = ""
    now: Moment
    query: str = Field(repr=False)
    context: tuple[str, ...] = Field(default=(), repr=False)
    pool: str
    gold: tuple[str, ...]
    candidates: tuple[str, ...]
    similarity: tuple[FiniteFloat | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled question.

    Attributes:
        id: the query's id.
        user: whose memories these are.
        query: the question.
        now: when it was asked.
        turns: the conversation before it.
        memories: what recall found, with its similarities.
        gold: ids of what is relevant, also what recall missed; empty when no memory answers.
        lang: its language, "" where the set does not tell.
        category: the set's own kind of question, likewise.
        activity: recent events; of logged calls alone.
    """

    id: str
    user: str
    query: str
    now: datetime
    turns: tuple[Turn, ...]
    memories: tuple[Memory, ...]
    gold: frozenset[str]
    lang: str = ""
    category: str = ""
    activity: tuple[str, ...] = ()


def available(folder: Path) -> list[str]:
    """The names of the sets in a folder."""
    return sorted(path.name.removesuffix(QUERIES) for path in folder.glob(f"*{QUERIES}"))


def measurable(folder: Path) -> list[str]:
    """The names of the sets in a folder that have memories, and labelled questions to measure with.

    A set of questions that nothing answers is measured against the labelled ones of its `sibling`.

    Raises:
        InvalidInput: a file cannot be read.
    """
    names = available(folder)
    labelled = {
        name
        for name in names
        if any(row.gold for _, row in _rows(folder / f"{name}{QUERIES}", _GoldRow))
        and memories_path(folder, name).is_file()
    }
    return [
        name
        for name in names
        if memories_path(folder, name).is_file() and not labelled.isdisjoint({name, sibling(name, names)})
    ]


def sibling(name: str, names: Iterable[str]) -> str | None:
    """The longest other name that this one continues after a "_"; None when there is none."""
    return max((other for other in names if name.startswith(f"{other}_")), key=len, default=None)


def memories_path(folder: Path, name: str) -> Path:
    """Where a set's memories are: in its own file, else in that of its sibling."""
    own = folder / f"{name}{MEMORIES}"
    if own.is_file():
        return own
    other = sibling(name, available(folder))
    return own if other is None else folder / f"{other}{MEMORIES}"


def load(
    folder: Path, name: str, *, limit: int | None = None, seed: int | None = 1, unanswerable: bool = False
) -> list[Case]:
    """Read the questions of a set.

    Args:
        folder: where the files are.
        name: the set's name.
        limit: take this many, after shuffling.
        seed: of the shuffle; the same one takes the same questions. None keeps the order of the file.
        unanswerable: take questions without labels too, which no memory answers.

    Raises:
        InvalidInput: there is no such question, or a file is missing or wrong; names file and line, never a
            value.
    """
    queries_at = folder / f"{name}{QUERIES}"
    if not queries_at.is_file():
        raise InvalidInput(f"no set {name} in {folder}; there is: {', '.join(available(folder)) or 'none'}")
    every = _rows(queries_at, _QueryRow)
    if len({row.id for _, row in every}) < len(every):
        raise InvalidInput(f"{queries_at.name}: two queries have the same id")
    queries = [(line, row) for line, row in every if row.gold or unanswerable]
    if not queries:
        raise InvalidInput(f"{queries_at.name}: no query has labelled memories, so nothing can be measured")
    if seed is not None:
        random.Random(seed).shuffle(queries)
    texts = {row.id: row for _, row in _rows(memories_path(folder, name), _MemoryRow)}
    return [_case(row, texts, f"{queries_at.name} line {line}") for line, row in queries[:limit]]


def _case(row: _QueryRow, texts: dict[str, _MemoryRow], place: str) -> Case:
    similarities = row.similarity if row.similarity is not None else (None,) * len(row.candidates)
    if len(row.candidates) != len(similarities):
        raise InvalidInput(f"{place}: similarity needs one number per candidate")
    unknown = [candidate for candidate in row.candidates if candidate not in texts]
    if unknown:
        raise InvalidInput(f"{place}: {len(unknown)} candidates are not in the set's memories file")
    try:
        memories = tuple(
            Memory(id=key, text=texts[key].text, created_at=texts[key].created_at, similarity=similarity)
            for key, similarity in zip(row.candidates, similarities, strict=True)
        )
    except ValidationError as error:
        raise InvalidInput(f"{place}: one of its memories: {describe(error)}") from None
    return Case(
        id=row.id,
        user=row.pool,
        query=row.query,
        now=row.now,
        turns=tuple(_turn(line) for line in row.context),
        memories=memories,
        gold=frozenset(row.gold),
        lang=row.lang,
        category=row.category,
    )


def _turn(line: str) -> Turn:
    name, colon, text = line.partition(": ")
    if not colon:
        return Turn(role="user", text=line)
    return Turn(role="assistant" if name == "Assistant" else "user", text=text)


R = TypeVar("R", bound=_Row)


def _rows(path: Path, kind: type[R]) -> list[tuple[int, R]]:
    """Every row with its line number, from 1."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path.name}: is not UTF-8") from None
    return [(number, _row(line, kind, path, number)) for number, line in enumerate(lines, 1) if line.strip()]


def _row(line: str, kind: type[R], path: Path, number: int) -> R:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        raise InvalidInput(f"{path.name} line {number}: {describe(error)}") from None
