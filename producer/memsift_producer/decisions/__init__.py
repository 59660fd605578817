"""The decision log: written by the caller's process, which alone knows prefilter, source and cause."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memsift_producer.decisions.files import Files
from memsift_producer.decisions.log import DecisionLog
from memsift_producer.decisions.record import Answered, Recorder
from memsift_schemas.clock import Clock, SystemClock
from memsift_schemas.decision import Told, encode

if TYPE_CHECKING:
    from memsift_producer.preparation import Prepared
    from memsift_producer.question import Question
    from memsift_schemas.result import RerankResult
    from memsift_schemas.settings import ProducerSettings


class Decisions:
    """Takes what the log is to hold; the log's thread makes lines of it.

    Args:
        settings: of the frontend, with a folder for the log.
        clock: the Redis server's.

    Attributes:
        log: who writes the lines.

    Raises:
        SettingsError: the log's folder cannot be written into.
    """

    def __init__(self, settings: ProducerSettings, clock: Clock) -> None:
        self._clock = clock
        self._recorder = Recorder(settings)
        files = Files(
            Path(settings.decision_log),
            days=settings.decision_log_days,
            megabytes=settings.decision_log_mb,
            now=SystemClock().time,
        )
        self.log = DecisionLog(files, now=clock.time)

    def answered(self, question: Question, prepared: Prepared, result: RerankResult) -> None:
        """Keep a call; some microseconds."""
        answered = Answered(question, prepared, result, self._clock.time())
        self.log.note(functools.partial(self._recorder.line, answered))

    def told(self, job_id: str, *, used: Sequence[str], missed: Sequence[str]) -> None:
        """Keep what was said of a call; some microseconds."""
        at = datetime.fromtimestamp(self._clock.time(), UTC)
        line = Told(at=at, job=job_id, used=tuple(used), missed=tuple(missed))
        self.log.note(functools.partial(encode, line))
