"""A storm of warnings fills no disk: of each kind the first is written, then a count every ten seconds."""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

EVERY_S = 10.0
# Kinds that are kept apart; messages of others may be of endless variety. What exceeds them is written.
MOST_KINDS = 1_000

_Kind = tuple[str, int, str, object]


@dataclass(slots=True)
class _Seen:
    since: float
    held: int = 0
    last: logging.LogRecord | None = None


class Storms:
    """Decides which records are written. A kind is a message before its values are put in, and a cause.

    Args:
        clock: seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[_Kind, _Seen] = {}

    def takes(self, record: logging.LogRecord) -> bool:
        """Whether this one is written now; else it is counted. Below WARNING all are."""
        if record.levelno < logging.WARNING:
            return True
        kind = (record.name, record.levelno, str(record.msg), getattr(record, "cause", None))
        seen = self._seen.get(kind)
        if seen is None:
            if len(self._seen) < MOST_KINDS:
                self._seen[kind] = _Seen(self._clock())
            return True
        seen.held += 1
        seen.last = record
        return False

    def counts(self, *, final: bool = False) -> list[logging.LogRecord]:
        """What is to be written of those that were counted; each stands for many and ends like the last one.

        Args:
            final: of all kinds, whether their time is over or not.
        """
        now, found = self._clock(), []
        for kind, seen in list(self._seen.items()):
            if not final and now - seen.since < EVERY_S:
                continue
            if seen.last is None:
                del self._seen[kind]  # the next one is a first one again
                continue
            found.append(_summary(seen.last, seen.held, now - seen.since))
            self._seen[kind] = _Seen(now)
        return found


def _summary(last: logging.LogRecord, held: int, seconds: float) -> logging.LogRecord:
    summary = copy.copy(last)
    summary.msg = "%s (the last of %d such events in %.0f s)"
    summary.args = (last.getMessage(), held, seconds)
    summary.repeated = held
    return summary
