"""Whether a job can still make its deadline behind those that wait: one cheap look at cached numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from memsift_producer.breaker_state import Reading
from memsift_schemas.clock import Clock

# A reading older than this says nothing; other faults then decide.
FRESH_S = 1.0
# So long after its deadline the oldest job's age still shows how long others wait.
EXPIRED_S = 1.0
# Weight of the newest answer in the mean service time.
SMOOTHING = 0.1
# A waiting job lets the batch in work end before its own begins. Measured at twice the capacity of one worker
# of 200 jobs/s with batches of 8 and 400 ms to answer: with 1 batch 168 answers/s and 5% of the model time on
# late jobs, with 2 batches 194 and 0%, with 3 batches 189 and 0%; without admission 19 and 91%. On a machine
# that other work kept busy: with 2 batches 158 and 6%, with 2.5 176 and 0%, with 3 174 and 0%.
BATCHES_BEHIND = 2.5


class Admission:
    """Estimates when a job that is sent now would be answered.

    With the workers' own throughput the wait is depth / throughput (Little 1961); a queue whose oldest job
    has waited for longer than that shows a worker that has stopped. Without throughput the oldest job's age
    is all there is. On top come the batch that is being ranked and its own.

    Only workers can be overloaded: with none present it refuses nothing, and the breaker finds out.

    Attributes:
        batch_s: what the workers say that their batches take; 0 when they do not know.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._depth = 0
        self._age = 0.0
        self._staffed = False
        self._read_at = float("-inf")
        self._jobs_per_s = 0.0
        self.batch_s = 0.0
        self._service_s = 0.0

    def learn(self, reading: Reading) -> None:
        """Take over depth and age."""
        now = self._clock.time()
        self._depth = reading.depth
        sent_at = reading.oldest_sent_at
        expires_at = reading.oldest_expires_at
        # Workers drop what has expired as soon as they see it. What lies there for long after is no load:
        # junk, or nobody takes anything, which is the breaker's business.
        waits = sent_at is not None and (expires_at is None or now - expires_at < EXPIRED_S)
        self._age = max(now - sent_at, 0.0) if sent_at is not None and waits else 0.0
        self._staffed = bool(reading.workers)
        self._read_at = now

    def learn_cards(self, cards: Iterable[bytes | str | None]) -> None:
        """Take over what the workers say of themselves; without throughput one was never full."""
        rates, batches = [], []
        for card in cards:
            said = _card(card)
            rates.append(_positive(said.get("jobs_per_s")))
            batches.append(_positive(said.get("batch_ms")))
        # A worker that has not been full yet counts like the mean of those that have.
        known = [rate for rate in rates if rate]
        self._jobs_per_s = sum(known) / len(known) * len(rates) if known else 0.0
        self.batch_s = max(batches, default=0.0) / 1e3

    def pushed(self, depth: int) -> None:
        """Redis told how long the queue is now."""
        self._depth = depth

    def answered(self, rank_ms: float) -> None:
        """A worker answered and told how long it ranked."""
        seconds = rank_ms / 1e3
        self._service_s += (seconds - self._service_s) * (SMOOTHING if self._service_s else 1.0)

    def expected_s(self, ahead: int = 0) -> float:
        """Seconds until a job that is sent now would be answered.

        Args:
            ahead: jobs of this process that are not in the queue yet.
        """
        if not self._staffed or self._clock.time() - self._read_at > FRESH_S:
            return 0.0
        depth = self._depth + ahead
        if not depth:
            return 0.0
        by_rate = depth / self._jobs_per_s if self._jobs_per_s else 0.0
        return max(by_rate, self._age) + BATCHES_BEHIND * max(self.batch_s, self._service_s)

    def admits(self, time_left: float, ahead: int = 0) -> bool:
        """Whether a job with this many seconds left is worth sending."""
        return self.expected_s(ahead) < time_left


def _card(raw: bytes | str | None) -> dict[str, Any]:
    try:
        card = orjson.loads(raw or b"{}")
    except orjson.JSONDecodeError:
        return {}
    return card if isinstance(card, dict) else {}


def _positive(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and value > 0 else 0.0
