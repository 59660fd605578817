"""One line for each log record, in JSON or for people; what may hold text of a caller is left out.

Our own messages hold none. Those of other libraries may quote what they were given when they fail: the first
line of theirs is kept, and of exceptions type and place alone.
"""

from __future__ import annotations

import json
import logging
import re
import traceback
from datetime import UTC, datetime
from typing import Any

# Loggers of ours, and so fields that we set.
OURS = "memsift"
# Innermost calls of an exception that are shown.
PLACES = 5
_STANDARD = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"})
# What would move a terminal's cursor or end the line, and halves of letters, which no file takes.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_COLOURS = {"WARNING": "33", "ERROR": "31", "CRITICAL": "1;31", "DEBUG": "2"}


class JsonLines(logging.Formatter):
    """`time`, `level`, `logger`, `pid`, `event`, then the event's own: `job`, `cause`, `request`."""

    def format(self, record: logging.LogRecord) -> str:
        """One JSON object."""
        line = {
            "time": _time(record).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "pid": record.process,
            "event": told(record),
            **fields(record),
        }
        if record.exc_info:
            line["error"] = fault(record.exc_info[1])
        # In ASCII: other letters may end a line for some reader, or be none at all.
        return json.dumps(line, default=str)


class Human(logging.Formatter):
    """Time of day, level, message.

    Args:
        colour: whether the terminal shows colours.
    """

    def __init__(self, *, colour: bool) -> None:
        super().__init__()
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        """One line of text."""
        at = _time(record).astimezone().strftime("%H:%M:%S.%f")[:-3]
        error = f" ({fault(record.exc_info[1])})" if record.exc_info else ""
        source = "" if record.name.startswith(OURS) else f"{record.name}: "
        line = _CONTROL.sub(_escape, f"{at} {record.levelname:<7} {source}{told(record)}{error}")
        colour = _COLOURS.get(record.levelname) if self._colour else None
        return f"\x1b[{colour}m{line}\x1b[0m" if colour else line


def told(record: logging.LogRecord) -> str:
    """The message; of others its first line: asyncio puts what tasks returned into the next ones."""
    message = record.getMessage()
    return message if record.name.startswith(OURS) else message.partition("\n")[0]


def fields(record: logging.LogRecord) -> dict[str, Any]:
    """What a call of ours gave as `extra`."""
    if not record.name.startswith(OURS):
        return {}
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


def fault(error: BaseException | None) -> str:
    """`Type at file:line < file:line`, innermost first, and the same of what it was raised from."""
    if error is None:
        return "unknown"
    frames = traceback.extract_tb(error.__traceback__)[: -PLACES - 1 : -1]
    places = " < ".join(f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}" for frame in frames)
    here = f"{type(error).__name__}{' at ' if places else ''}{places}"
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return f"{here}, from {fault(cause)}" if cause is not None else here


def _time(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


def _escape(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode()
