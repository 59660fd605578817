"""One simulated card: the calls that wait for it, its cache, its clock."""

from __future__ import annotations

from array import array
from collections import deque
from dataclasses import dataclass, field

from memsift_ops.planning.layouts import Costs, Turns
from memsift_ops.planning.prefix_lru import PrefixLru
from memsift_ops.planning.roofline import Roofline

# Arrival in seconds, key in the cache, number of the turn, favourite card, step to the next one.
Call = tuple[float, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Batching:
    """How a worker takes calls; the defaults are those of the settings.

    Attributes:
        most: calls in a micro-batch.
        wait_s: how long one waits to fill up.
        deadline_s: a call that has waited this long is dropped; its caller has fallen back.
    """

    most: int = 16
    wait_s: float = 0.008
    deadline_s: float = 0.4


@dataclass(slots=True)
class Ledger:
    """What is counted, from `begin` to `end`, over all cards.

    Attributes:
        begin: earlier arrivals warm the caches and do not count.
        end: work after it is no utilisation of the time that counts.
        waits: seconds that callers waited, at most until the deadline.
        late: calls that were not answered by their deadline.
        asked: tokens of the prompts that were computed.
        computed: tokens that were not cached.
        batches: that were computed, with `batched` calls in them.
        busy_s: seconds of work.
    """

    begin: float
    end: float
    waits: array[float] = field(default_factory=lambda: array("d"))
    late: int = 0
    asked: int = 0
    computed: int = 0
    batches: int = 0
    batched: int = 0
    busy_s: float = 0.0


class CardQueue:
    """Calls are computed one micro-batch after the other, and answered when their batch is done.

    Args:
        turns: what the calls hold.
        costs: the same in seconds.
        roofline: of the card.
        room: tokens that its cache holds.
        batching: how calls are taken.
        ledger: counts.
    """

    __slots__ = (
        "_batching",
        "_cache",
        "_costs",
        "_ledger",
        "_roofline",
        "_tables",
        "_under_way",
        "free_at",
        "taken",
        "waiting",
    )

    def __init__(
        self, turns: Turns, costs: Costs, roofline: Roofline, room: int, batching: Batching, ledger: Ledger
    ) -> None:
        self.waiting: deque[Call] = deque()
        self.taken: list[Call] = []
        self.free_at = 0.0
        self._under_way = 0
        self._cache = PrefixLru(room)
        self._costs, self._roofline, self._batching, self._ledger = costs, roofline, batching, ledger
        self._tables = (
            turns.shared.tolist(),
            turns.kept.tolist(),
            turns.asked.tolist(),
            turns.computed.tolist(),
        )

    def pending(self, now: float) -> int:
        """How many calls wait here or are being computed now."""
        self.catch_up(now)
        return len(self.waiting) + (self._under_way if self.free_at > now else 0)

    def catch_up(self, now: float) -> None:
        """Compute every batch of those waiting that begins by now."""
        waiting, most = self.waiting, self._batching.most
        while waiting:
            start = waiting[0][0] + self._batching.wait_s
            if len(waiting) >= most:
                start = min(start, waiting[most - 1][0])
            start = max(start, self.free_at)
            if start > now:
                return
            batch: list[Call] = []
            while waiting and len(batch) < most and waiting[0][0] <= start:
                batch.append(waiting.popleft())
            self.compute(batch, start)

    def compute(self, batch: list[Call], start: float) -> float:
        """Compute a batch; when it is done."""
        deadline = self._batching.deadline_s
        alive = [call for call in batch if start - call[0] < deadline]
        end = start
        if alive:
            end += self._seconds(alive)
            self._count_work(start, end, len(alive))
        self.free_at, self._under_way = end, len(alive)
        ledger = self._ledger
        begin, waits = ledger.begin, ledger.waits
        for call in batch:
            if call[0] >= begin:
                wait = end - call[0]
                # A dropped call is late even where nothing else was computed meanwhile.
                if wait >= deadline:
                    ledger.late += 1
                    wait = deadline
                waits.append(wait)
        return end

    def _seconds(self, batch: list[Call]) -> float:
        shared, kept, asked, computed = self._tables
        costs, cold, reading = self._costs, self._costs.cold, self._costs.read
        by_token, by_square, use = costs.saved_by_token, costs.saved_by_square, self._cache.use
        arithmetic, read = 0.0, self._roofline.per_batch_read
        tokens = new = 0
        begin = self._ledger.begin
        for arrived, key, turn, _, _ in batch:
            hit = use(key, shared[turn], kept[turn])
            arithmetic += cold[turn] - (by_token + by_square * hit) * hit
            read += reading[turn]
            if arrived >= begin:
                tokens += asked[turn]
                new += computed[turn] - hit
        self._ledger.asked += tokens
        self._ledger.computed += new
        return max(arithmetic, read) + self._roofline.overhead

    def _count_work(self, start: float, end: float, calls: int) -> None:
        ledger = self._ledger
        if end > ledger.begin and start < ledger.end:
            ledger.batches += 1
            ledger.batched += calls
            ledger.busy_s += min(end, ledger.end) - max(start, ledger.begin)
