"""From the questions of a log to the rows of a set: makes ids, settles what the log does not tell."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from memsift_ops.own_logs.rows import LogMemory, Question
from memsift_schemas.errors import InvalidInput
from memsift_schemas.words import HAN
from memsift_workers.strategies.language import language

# When nothing in the file has a time: any moment does, as long as it is the same at every conversion.
NO_TIME = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Counts:
    """What a log held, and what it did not tell.

    Attributes:
        questions: in the set.
        memories: in the set, each once.
        candidates: memories of all questions, together.
        unanswerable: questions without a relevant memory; they measure abstention.
        left_out: questions without memories, which are not in the set.
        not_recalled: relevant memories that recall did not bring; they count as missed.
        changed: memories whose id already stood for another text; their id got a suffix.
        no_created_at: memories without their time.
        no_now: questions without theirs.
        no_similarity: candidates without similarity.
        no_user: questions without user.
        languages: questions whose language was guessed, by language.
    """

    questions: int = 0
    memories: int = 0
    candidates: int = 0
    unanswerable: int = 0
    left_out: int = 0
    not_recalled: int = 0
    changed: int = 0
    no_created_at: int = 0
    no_now: int = 0
    no_similarity: int = 0
    no_user: int = 0
    languages: Counter[str] = field(default_factory=Counter)

    def as_json(self) -> dict[str, Any]:
        """The same, JSON-ready."""
        return {**asdict(self), "languages": dict(sorted(self.languages.items()))}


@dataclass(frozen=True, slots=True)
class Assembled:
    """The rows of both files, JSON-ready, and what was counted."""

    queries: list[dict[str, Any]] = field(repr=False)
    memories: list[dict[str, Any]] = field(repr=False)
    counts: Counts


def assemble(questions: Sequence[Question], pool: str) -> Assembled:
    """Make a set.

    The same questions give the same set. A memory without a time gets the oldest time of the file, so that
    none of these is newer than another; a question without one is asked when its newest memory was made.

    Args:
        questions: of the log.
        pool: whose the memories of questions without a user are.

    Raises:
        InvalidInput: two questions have the same id, or none has memories.
    """
    asked = [question for question in questions if question.row.memories]
    if not asked:
        raise InvalidInput("no question has memories, so there is nothing to rank")
    counts = Counts(questions=len(asked), left_out=len(questions) - len(asked))
    shelf = _Shelf(_oldest(asked), counts)
    given = _given_ids(asked)
    queries = [_query(question, pool, shelf, given) for question in asked]
    _count(asked, counts)
    counts.memories = len(shelf.rows)
    return Assembled(queries, list(shelf.rows.values()), counts)


class _Shelf:
    """The memories of the set, each once, under ids that are unique in it.

    A log may use an id for several texts (of several users, or before and after an update): the first text
    keeps the id, the others get the hash of what they are as a suffix.
    """

    def __init__(self, oldest: datetime, counts: Counts) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.oldest = oldest
        self._counts = counts

    def place(self, memory: LogMemory, pool: str, copy: int) -> str:
        """Put a memory there, once, and tell its id; `copy` counts equal ones of one question from 0."""
        created_at = memory.created_at or self.oldest
        row = {"pool": pool, "text": memory.text, "created_at": created_at.isoformat()}
        made = _hash([pool, memory.text, memory.created_at and memory.created_at.isoformat()])
        key = memory.id or f"m-{made}" + (f"-{copy + 1}" if copy else "")
        while self.rows.get(key, {"id": key, **row}) != {"id": key, **row}:
            key = f"{key}~{made}"
        if key not in self.rows:
            self._counts.changed += memory.id not in (None, key)
            self._counts.no_created_at += memory.created_at is None
            self.rows[key] = {"id": key, **row}
        return key


def _query(question: Question, pool: str, shelf: _Shelf, taken: set[str]) -> dict[str, Any]:
    row = question.row
    pool = row.user or pool
    copies: Counter[tuple[str, datetime | None]] = Counter()
    candidates = []
    for memory in row.memories:
        same = (memory.text, memory.created_at)
        candidates.append(shelf.place(memory, pool, copies[same]))
        copies[same] += memory.id is None
    query = {
        "lang": row.lang or guessed(row.query),
        "category": row.category or "",
        "now": (row.now or question.newest or shelf.oldest).isoformat(),
        "query": row.query,
        "context": [f"{turn.role.capitalize()}: {turn.text}" for turn in row.turns],
        "pool": pool,
        "gold": [*(candidates[at] for at in sorted(question.relevant)), *question.missed],
        "candidates": candidates,
        "similarity": [memory.similarity for memory in row.memories],
    }
    return {"id": row.id or _made_id(question, taken), **query}


def guessed(text: str) -> str:
    """The language by its script: "zh", "en" for Latin letters, "" for neither."""
    return language(text) if HAN.search(text) or any("a" <= letter <= "z" for letter in text.lower()) else ""


def _oldest(questions: Iterable[Question]) -> datetime:
    times = [question.row.now for question in questions]
    times += [memory.created_at for question in questions for memory in question.row.memories]
    return min((time for time in times if time is not None), default=NO_TIME)


def _given_ids(questions: Iterable[Question]) -> set[str]:
    lines: dict[str, int] = {}
    for question in questions:
        key = question.row.id
        if key is not None and lines.setdefault(key, question.line) != question.line:
            raise InvalidInput(f"line {question.line}: the same id as the question of line {lines[key]}")
    return set(lines)


def _made_id(question: Question, taken: set[str]) -> str:
    """The hash of what the log tells of a question; the second of two equal ones has a suffix."""
    told = question.row.model_dump(mode="json", exclude={"id", "relevant"})
    made = f"q-{_hash([told, sorted(question.relevant), question.missed])}"
    key, copy = made, 1
    while key in taken:
        copy += 1
        key = f"{made}-{copy}"
    taken.add(key)
    return key


def _hash(data: Any) -> str:
    canonical = json.dumps(data, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def _count(questions: Sequence[Question], counts: Counts) -> None:
    for question in questions:
        row = question.row
        counts.candidates += len(row.memories)
        counts.unanswerable += not (question.relevant or question.missed)
        counts.not_recalled += len(question.missed)
        counts.no_now += row.now is None
        counts.no_user += row.user is None
        counts.no_similarity += sum(memory.similarity is None for memory in row.memories)
        if row.lang is None:
            counts.languages[guessed(row.query) or "unknown"] += 1
