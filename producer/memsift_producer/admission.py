"""Whether a job can still make its deadline behind those that wait: one cheap look at cached numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from memsift_producer.affinity import OwnList
from memsift_producer.breaker_state import Reading
from memsift_producer.cards import Card, throughput
from memsift_schemas.clock import Clock
from memsift_schemas.waiting import Waiting

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
    """Estimates when a job that is sent now would be answered, in the list that it would go to.

    With the workers' own throughput the wait is depth / throughput (Little 1961); a list whose oldest job
    has waited for longer than that shows a worker that has stopped. Without throughput the oldest job's age
    is all there is. On top come the batch that is being ranked and its own.

    Before a job in the queue all others are served, those in own lists too; before one in an own list only
    those there.

    Only workers can be overloaded: with none present it refuses nothing, and the breaker finds out.

    Attributes:
        batch_s: what the workers say that their batches take; 0 when they do not know.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._queue = _Backlog()
        self._own: dict[str, _Backlog] = {}
        self._staffed = False
        self._read_at = float("-inf")
        self._jobs_per_s = 0.0
        self.batch_s = 0.0
        self._service_s = 0.0

    def learn(self, reading: Reading) -> None:
        """Take over depths and ages."""
        now = self._clock.time()
        self._queue = _backlog(reading.queue, now)
        self._own = {key: _backlog(waiting, now) for key, waiting in reading.own.items()}
        self._staffed = bool(reading.workers)
        self._read_at = now

    def learn_cards(self, cards: Collection[Card]) -> None:
        """Take over what the workers say of themselves; without throughput one was never full."""
        self._jobs_per_s = throughput(cards)
        self.batch_s = max((card.batch_s for card in cards), default=0.0)

    def pushed(self, queue: int, own: Mapping[str, int]) -> None:
        """Redis told how long the lists are now."""
        self._queue.depth = queue
        for key, depth in own.items():
            self._own.setdefault(key, _Backlog()).depth = depth

    def answered(self, rank_ms: float) -> None:
        """A worker answered and told how long it ranked."""
        seconds = rank_ms / 1e3
        self._service_s += (seconds - self._service_s) * (SMOOTHING if self._service_s else 1.0)

    def depth(self, own: OwnList | None = None) -> int:
        """How many jobs wait in this list, as far as is known; None for the queue."""
        return self._backlog(own).depth

    def _backlog(self, own: OwnList | None) -> _Backlog:
        return self._queue if own is None else self._own.get(own.key, _Backlog())

    def is_backed_up(self, own: OwnList | None) -> bool:
        """Whether jobs there have waited for longer than a batch takes: its workers have no time to spare."""
        return self._backlog(own).age > max(self.batch_s, self._service_s)

    def expected_s(self, ahead: int = 0, own: OwnList | None = None) -> float:
        """Seconds until a job that is sent now would be answered.

        Args:
            ahead: jobs of this process that are in no list yet.
            own: the list that it would go to; None for the queue.
        """
        if not self._staffed or self._clock.time() - self._read_at > FRESH_S:
            return 0.0
        found, rate = self._backlog(own), self._jobs_per_s if own is None else own.jobs_per_s
        depth = found.depth
        if own is None:
            depth += sum(one.depth for one in self._own.values()) + ahead
        if not depth:
            return 0.0
        by_rate = depth / rate if rate else 0.0
        return max(by_rate, found.age) + BATCHES_BEHIND * max(self.batch_s, self._service_s)

    def admits(self, time_left: float, ahead: int = 0, own: OwnList | None = None) -> bool:
        """Whether a job with this many seconds left is worth sending; see `expected_s`."""
        return self.expected_s(ahead, own) < time_left


@dataclass(slots=True)
class _Backlog:
    """How many jobs wait in a list, and for how long the oldest has."""

    depth: int = 0
    age: float = 0.0


def _backlog(waiting: Waiting, now: float) -> _Backlog:
    expires_at = waiting.oldest_expires_at
    # Workers drop what has expired as soon as they see it. What lies there for long after is no load: junk,
    # or nobody takes anything, which is the breaker's business.
    waits = expires_at is None or now - expires_at < EXPIRED_S
    return _Backlog(waiting.depth, waiting.age_s(now) if waits else 0.0)
