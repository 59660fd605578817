"""Reads a log that is a table: a row for each question, or a row for each question and memory."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from memsift_ops.own_logs.rows import LogMemory, LogRow, Question, check_ids, checked, resolved
from memsift_schemas.errors import InvalidInput

# Columns of the long form that tell of the question; the others tell of the memory.
OF_QUESTION = ("query_id", "query", "user", "now", "lang", "category", "turns")
YES, NO = frozenset({"1", "1.0", "true", "yes"}), frozenset({"", "0", "0.0", "false", "no"})
# The standard library stops at 128 KiB, and a cell with the JSON of many memories may hold more.
LARGEST_CELL = 16 * 1024 * 1024
_LINE_END = re.compile(r"\r\n?|\n")

# Line of the file, and cells by column.
Row = tuple[int, dict[str, str]]


def read(text: str) -> list[Question]:
    """Read every question of a table.

    Args:
        text: CSV with commas, semicolons or tabs, its first line naming the columns. With a column `memories`
            it has a row for each question, with a column `memory` one for each question and memory.

    Raises:
        InvalidInput: names the line, never a value.
    """
    rows = _rows(text)
    columns = next(rows)
    for form, needed, reader in (
        ("memories", {"query", "memories", "relevant"}, _wide),
        ("memory", {"query", "memory", "relevant"}, _long),
    ):
        if form in columns:
            missing = sorted(needed - set(columns))
            if missing:
                raise InvalidInput(f"line 1: there is no column {', '.join(missing)}")
            return reader(_cells(rows, columns))
    raise InvalidInput(
        "line 1: names neither a column memories (a row for each question) nor a column memory (a row for "
        "each question and memory)"
    )


def _rows(text: str) -> Iterator[Any]:
    """The names of the columns, then each row with its line."""
    # Excel may tell its list separator in a line of its own.
    told = text[4:5] if text[:4].lower() == "sep=" else ""
    file = io.StringIO(text, newline="")
    skipped = 1 if told else 0
    if told:
        file.readline()
    header = _LINE_END.split(text, skipped + 1)[skipped:][:1]
    csv.field_size_limit(LARGEST_CELL)
    reader = csv.reader(file, delimiter=told or _delimiter("".join(header)), strict=True)
    line = skipped
    try:
        yield _columns(next(reader, []))
        line = reader.line_num + skipped
        for cells in reader:
            # A cell may hold line breaks: what is told is where its row begins.
            begins, line = line + 1, reader.line_num + skipped
            if any(cell.strip() for cell in cells):
                yield begins, cells
    except csv.Error as error:
        raise InvalidInput(f"line {line + 1}: is no CSV: {error}") from None


def _delimiter(header: str) -> str:
    # Only the header is looked at, which holds names: in the texts below every character may occur.
    try:
        return csv.Sniffer().sniff(header, delimiters=",;\t").delimiter
    except csv.Error:
        return ","


def _columns(header: list[str]) -> list[str]:
    """Column names as this module writes them: "Query ID" is query_id."""
    names = ["_".join(name.lower().split()) for name in header]
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise InvalidInput("line 1: two columns have the same name")
    return names


def _cells(rows: Iterator[Any], columns: list[str]) -> Iterator[Row]:
    for line, cells in rows:
        if len(cells) > len(columns):
            counted = f"{len(cells)} cells for {len(columns)} columns"
            raise InvalidInput(f"line {line}: has {counted}; put quotes around texts")
        yield line, dict(itertools.zip_longest(columns, cells, fillvalue=""))


def _wide(rows: Iterable[Row]) -> list[Question]:
    found = []
    for line, cells in rows:
        lists = {name: _json(line, name, cells.get(name, "")) for name in ("memories", "relevant", "turns")}
        own_id = {"id": cells.get("id") or cells.get("query_id", "")}
        found.append(resolved(line, checked(LogRow, line, {**cells, **own_id, **lists})))
    return found


def _json(line: int, column: str, cell: str) -> Any:
    try:
        return json.loads(cell) if cell.strip() else []
    except (json.JSONDecodeError, RecursionError):
        raise InvalidInput(f'line {line}: {column}: is no JSON, such as ["m1", "m2"]') from None


@dataclass(slots=True)
class _Gathered:
    """A question of the long form, as far as its rows were read."""

    line: int
    cells: dict[str, str] = field(repr=False)
    memories: list[LogMemory] = field(default_factory=list, repr=False)
    relevant: set[int] = field(default_factory=set)


def _long(rows: Iterable[Row]) -> list[Question]:
    found: dict[tuple[str, ...], _Gathered] = {}
    for line, cells in rows:
        about = {name: cells[name].strip() for name in OF_QUESTION if name in cells}
        known = about.get("query_id")
        key = (known,) if known else tuple(about.get(name, "") for name in ("query", "user", "now"))
        question = found.setdefault(key, _Gathered(line, about))
        _agree(line, about, question)
        if _relevant(line, cells["relevant"]):
            question.relevant.add(len(question.memories))
        question.memories.append(checked(LogMemory, line, _memory(cells)))
    return [_question(question) for question in found.values()]


def _agree(line: int, about: dict[str, str], question: _Gathered) -> None:
    """Rows of one question must tell the same of it; a blank cell tells nothing."""
    for name, cell in about.items():
        before = question.cells.get(name, "")
        if cell and before and cell != before:
            raise InvalidInput(f"line {line}: {name}: line {question.line} tells another for this question")
        question.cells[name] = before or cell


def _relevant(line: int, cell: str) -> bool:
    told = cell.strip().lower()
    if told not in YES | NO:
        raise InvalidInput(f"line {line}: relevant: must be 1 or 0")
    return told in YES


def _memory(cells: dict[str, str]) -> dict[str, Any]:
    return {
        "id": cells.get("memory_id", ""),
        "text": cells["memory"],
        "created_at": cells.get("created_at", ""),
        "similarity": cells.get("similarity", ""),
    }


def _question(gathered: _Gathered) -> Question:
    line, cells = gathered.line, gathered.cells
    about = {**cells, "id": cells.get("query_id", ""), "turns": _json(line, "turns", cells.get("turns", ""))}
    # Its memories were checked where they stand, so that a fault is told with the memory's own line.
    row = checked(LogRow, line, {**about, "memories": (), "relevant": ()})
    row = row.model_copy(update={"memories": tuple(gathered.memories)})
    check_ids(line, row)
    return Question(line, row, frozenset(gathered.relevant))
