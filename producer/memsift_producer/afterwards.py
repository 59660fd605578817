"""What is kept of an answered call: a line in the decision log, and what it picked, for feedback on it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from redis.asyncio import Redis

from memsift_producer.feedback import Feedback
from memsift_producer.meter import Meter
from memsift_producer.preparation import Prepared
from memsift_producer.question import Question
from memsift_schemas.clock import Clock
from memsift_schemas.result import RerankResult

if TYPE_CHECKING:
    from memsift_producer.decisions import Decisions
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
        decisions: the decision log; None where no folder is set.

    Raises:
        SettingsError: the log's folder cannot be written into.
    """

    def __init__(self, redis: Redis, settings: ProducerSettings, clock: Clock, meter: Meter) -> None:
        self.decisions: Decisions | None = None
        if settings.decision_log:
            # Most frontends keep none; their import does not wait for it.
            from memsift_producer.decisions import Decisions  # noqa: PLC0415

            self.decisions = Decisions(settings, clock)
        self.feedback = Feedback(
            redis,
            settings.queue,
            ttl_s=settings.feedback_ttl_s,
            clock=clock,
            decisions=self.decisions,
            meter=meter,
        )

    async def run(self) -> None:
        """Write both, for ever; ends by being cancelled."""
        if self.decisions is not None:
            self.decisions.log.start()
        await self.feedback.run()

    def answered(self, question: Question, prepared: Prepared, result: RerankResult) -> None:
        """Keep a call; some microseconds."""
        if self.decisions is not None:
            self.decisions.answered(question, prepared, result)
        self.feedback.answered(result, question.user)

    async def close(self) -> None:
        """Write what waits, for as long as each allows; the log can be opened again."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.feedback.flush(), CLOSE_WAIT_S)
        if self.decisions is not None:
            await asyncio.to_thread(self.decisions.log.close)
