"""Whether a job can still make its deadline behind those that wait: one cheap look at cached numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from memsift_producer.breaker_state import Reading
from memsift_schemas.clock import Clock

# A reading older than this says nothing; other faults then decide.
FRESH_S = 1.0
# Weight of the newest answer in the mean service time.
SMOOTHING = 0.1
# A waiting job lets the batch in work end before its own begins. Measured at twice the capacity of one worker
# of 200 jobs/s with batches of 8 and 400 ms to answer: with 1 batch 168 answers/s and 5% of the model time on
# late jobs, with 2 batches 194 and 0%, with 3 batches 189 and 0%; without admission 19 and 91%.
BATCHES_BEHIND = 2.0


class Admission:
    """Estimates when a job that is sent now would be answered.

    With the workers' own throughput the wait is depth / throughput (Little 1961); a queue whose oldest job
    has waited for longer than that shows a worker that has stopped. Without throughput the oldest job's age
    is all there is. On top come the batch that is being ranked and its own.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._depth = 0
        self._age = 0.0
        self._read_at = float("-inf")
        self._jobs_per_s = 0.0
        self._batch_s = 0.0
        self._service_s = 0.0

    def learn(self, reading: Reading) -> None:
        """Take over depth and age."""
        now = self._clock.time()
        self._depth = reading.depth
        sent_at = reading.oldest_sent_at
        self._age = max(now - sent_at, 0.0) if sent_at is not None else 0.0
        self._read_at = now

    def learn_cards(self, cards: Iterable[bytes | str | None]) -> None:
        """Take over what the workers say of themselves; a card without throughput is one that was idle."""
        rates, batches = [], []
        for card in cards:
            said = _card(card)
            rates.append(_positive(said.get("jobs_per_s")))
            batches.append(_positive(said.get("batch_ms")))
        # A worker that has not been busy yet counts like the mean of those that have.
        known = [rate for rate in rates if rate]
        self._jobs_per_s = sum(known) / len(known) * len(rates) if known else 0.0
        self._batch_s = max(batches, default=0.0) / 1e3

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
        if self._clock.time() - self._read_at > FRESH_S:
            return 0.0
        depth = self._depth + ahead
        if not depth:
            return 0.0
        by_rate = depth / self._jobs_per_s if self._jobs_per_s else 0.0
        return max(by_rate, self._age) + BATCHES_BEHIND * max(self._batch_s, self._service_s)

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
