"""What both sides see of what they share: lists, workers, breaker."""

from __future__ import annotations

from collections.abc import Mapping

from memsift_schemas.metrics import catalogue
from memsift_schemas.metrics.instruments import Instruments
from memsift_schemas.waiting import Waiting

# The label of the list that all workers drain, beside the names of runtimes.
QUEUE_LIST = "queue"


class SharedView:
    """Shows what one look told.

    Args:
        instruments: of this process.
        queue: the queue.
    """

    def __init__(self, instruments: Instruments, queue: str) -> None:
        self._instruments = instruments
        self._queue = queue
        self._lists: set[str] = set()

    def saw(
        self,
        seconds: float,
        *,
        lists: Mapping[str, Waiting],
        workers: int,
        breaker_open: bool,
        now: float,
    ) -> None:
        """Redis answered.

        Args:
            seconds: the round trip.
            lists: what waits, by the label `list`.
            workers: how many are present.
            breaker_open: whether calls fall back.
            now: unix seconds on the server's clock.
        """
        show, queue = self._instruments.show, self._queue
        self._instruments.observe(catalogue.REDIS_ROUND_TRIP, seconds)
        show(catalogue.REDIS_UP, 1)
        show(catalogue.WORKERS, workers, queue)
        show(catalogue.BREAKER_OPEN, breaker_open, queue)
        # A list that is drained no more holds nothing.
        gone = dict.fromkeys(self._lists - lists.keys(), Waiting())
        for name, waits in {**gone, **lists}.items():
            show(catalogue.QUEUE_JOBS, waits.depth, queue, name)
            show(catalogue.QUEUE_OLDEST, waits.age_s(now), queue, name)
        self._lists = set(lists)

    def lost(self) -> None:
        """Redis does not answer; what was seen before stays on show."""
        self._instruments.show(catalogue.REDIS_UP, 0)
