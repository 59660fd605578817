"""What both sides see of what they share: lists, workers, breaker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memsift_schemas.metrics import catalogue
from memsift_schemas.metrics.instruments import Instruments
from memsift_schemas.waiting import Waiting

# The label of the list that all workers drain, beside the names of runtimes.
QUEUE_LIST = "queue"


@dataclass(frozen=True, slots=True)
class Shared:
    """What one look at Redis told.

    Attributes:
        lists: what waits, by the label `list`.
        workers: how many are present.
        breaker_open: whether calls fall back.
        now: unix seconds on the server's clock.
        seconds: what the round trip took.
    """

    lists: Mapping[str, Waiting]
    workers: int
    breaker_open: bool
    now: float
    seconds: float


class SharedView:
    """Shows what a look told.

    Args:
        instruments: of this process.
        queue: the queue.
    """

    def __init__(self, instruments: Instruments, queue: str) -> None:
        self._instruments = instruments
        self._queue = queue
        self._lists: set[str] = set()

    def saw(self, shared: Shared) -> None:
        """Redis answered."""
        show, queue = self._instruments.show, self._queue
        self._instruments.observe(catalogue.REDIS_ROUND_TRIP, shared.seconds)
        show(catalogue.REDIS_UP, 1)
        show(catalogue.WORKERS, shared.workers, queue)
        show(catalogue.BREAKER_OPEN, shared.breaker_open, queue)
        # A list that is drained no more holds nothing.
        gone = dict.fromkeys(self._lists - shared.lists.keys(), Waiting())
        for name, waits in {**gone, **shared.lists}.items():
            show(catalogue.QUEUE_JOBS, waits.depth, queue, name)
            show(catalogue.QUEUE_OLDEST, waits.age_s(shared.now), queue, name)
        self._lists = set(shared.lists)

    def lost(self) -> None:
        """Redis does not answer; what was seen before stays on show."""
        self._instruments.show(catalogue.REDIS_UP, 0)
