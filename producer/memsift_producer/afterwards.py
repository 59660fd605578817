"""What is kept of an answered call: a line in the decision log, and what it picked, for feedback on it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from pathlib import Path

from redis.asyncio import Redis

from memsift_producer.decisions.files import Files
from memsift_producer.decisions.log import DecisionLog
from memsift_producer.decisions.record import Answered, Recorder
from memsift_producer.feedback import Feedback
from memsift_producer.meter import Meter
from memsift_producer.preparation import Prepared, Question
from memsift_schemas.clock import Clock, SystemClock
from memsift_schemas.result import RerankResult
from memsift_schemas.settings import ProducerSettings

# Closing waits this long for what is still to be told to Redis.
CLOSE_WAIT_S = 0.2


class Afterwards:
    """Takes answered calls; what it does with them, nobody waits for.

    Args:
        redis: the connection.
        settings: of the frontend.
        clock: the Redis server's.
        meter: counts feedback.

    Attributes:
        feedback: counts what is said of an answer.
        log: the decision log; None where no folder is set.

    Raises:
        SettingsError: the log's folder cannot be written into.
    """

    def __init__(self, redis: Redis, settings: ProducerSettings, clock: Clock, meter: Meter) -> None:
        self._clock = clock
        self._recorder = Recorder(settings)
        self.log: DecisionLog | None = None
        if settings.decision_log:
            files = Files(
                Path(settings.decision_log),
                days=settings.decision_log_days,
                megabytes=settings.decision_log_mb,
                now=SystemClock().time,
            )
            self.log = DecisionLog(files, now=clock.time)
        self.feedback = Feedback(
            redis, settings.queue, ttl_s=settings.feedback_ttl_s, clock=clock, decisions=self.log, meter=meter
        )

    async def run(self) -> None:
        """Write both, for ever; ends by being cancelled."""
        if self.log is not None:
            self.log.start()
        await self.feedback.run()

    def answered(self, question: Question, prepared: Prepared, result: RerankResult) -> None:
        """Keep a call; some microseconds."""
        if self.log is not None:
            answered = Answered(question, prepared, result, self._clock.time())
            self.log.note(functools.partial(self._recorder.line, answered))
        self.feedback.answered(result, question.user)

    async def close(self) -> None:
        """Write what waits, for as long as each allows; the log can be opened again."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.feedback.flush(), CLOSE_WAIT_S)
        if self.log is not None:
            await asyncio.to_thread(self.log.close)
