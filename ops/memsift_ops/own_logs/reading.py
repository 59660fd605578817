"""Reads a log: JSON lines, or a table as a spreadsheet saves it."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from memsift_ops.own_logs import table
from memsift_ops.own_logs.rows import LogRow, Question, resolved
from memsift_schemas.errors import InvalidInput, describe


def read(path: Path) -> list[Question]:
    """Read every question of a file; JSON lines are told by their first character, whatever the name.

    Raises:
        InvalidInput: the file or a line is wrong; names the line, never a value.
    """
    try:
        # Excel begins its UTF-8 with a byte order mark.
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"{path.name} line {line}: is not UTF-8; save the file as UTF-8") from None
    first = text.lstrip()[:1]
    try:
        if first == "[":
            raise InvalidInput("line 1: is a JSON list; write one object a line, with no list around them")
        found = _json_lines(text) if first == "{" else table.read(text)
        if not found:
            raise InvalidInput("holds no question")
    except InvalidInput as error:
        raise InvalidInput(f"{path.name} {error}") from None
    return found


def _json_lines(text: str) -> list[Question]:
    lines = enumerate(text.split("\n"), start=1)
    return [resolved(number, _row(number, line)) for number, line in lines if line.strip()]


def _row(number: int, line: str) -> LogRow:
    try:
        return LogRow.model_validate_json(line)
    except ValidationError as error:
        raise InvalidInput(f"line {number}: {describe(error)}") from None
