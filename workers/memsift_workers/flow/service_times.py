"""How long a ranker takes just now, and which jobs can therefore not make it."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

from memsift_schemas.clock import Clock
from memsift_schemas.job import RerankJob

# Fewer say nothing: the first batches after a start are slow, and nothing may be dropped for that.
FEWEST = 5
# Half a minute of batches at two a second, a second of them at 64.
MOST = 64
# Only one batch in ten was faster than this: a job with less time left is surely late.
SURELY = 0.1
# When other jobs wait, the head of the queue is always the job that has just enough time left. Were "just
# enough" the fast end of the times, most would end late: so they need the slow end, and a bit. Of `memsift
# chaos --scenario overload`, one run each: with 1.2 .096% of the model time in vain and 94.7% of the capacity
# answered, with 1.4 .055% and 94.1%.
LIKELY, MARGIN = 0.95, 1.4
# While everything is dropped nothing is measured: after this long one batch is let through to see.
STALE_S = 1.0


class ServiceTimes:
    """The last batch times of each ranker, seconds.

    Attributes:
        listener: is told of each one.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.listener: Callable[[str, float], None] = lambda _ranker, _seconds: None
        self._times: dict[str, deque[float]] = {}
        self._last_at: dict[str, float] = {}

    def record(self, ranker: str, seconds: float) -> None:
        """Take one batch's time in."""
        self._times.setdefault(ranker, deque(maxlen=MOST)).append(seconds)
        self._last_at[ranker] = self._clock.monotonic()
        self.listener(ranker, seconds)

    def quantile(self, ranker: str, share: float) -> float | None:
        """The time that `share` of the recent batches did not exceed; None when too few are known."""
        times = self._times.get(ranker, ())
        if len(times) < FEWEST:
            return None
        ordered = sorted(times)
        return ordered[min(math.floor(share * len(ordered)), len(ordered) - 1)]

    def median_ms(self, ranker: str) -> float | None:
        """The median of the recent batch times, milliseconds; None when too few are known."""
        median = self.quantile(ranker, 0.5)
        return None if median is None else median * 1e3

    def least_time(self, ranker: str, *, crowded: bool) -> TimeNeeded:
        """What a job must have left to be worth model time now.

        Args:
            ranker: who will rank it.
            crowded: whether other jobs wait, so that the model's time is better spent on them.
        """
        surely = self.quantile(ranker, SURELY)
        if surely is None or self._is_stale(ranker, surely):
            return TimeNeeded(0.0, 0.0)
        likely = self.quantile(ranker, LIKELY) if crowded else None
        return TimeNeeded(surely, surely if likely is None else likely * MARGIN)

    def _is_stale(self, ranker: str, usual: float) -> bool:
        # A slow batch that is still under way is no reason to forget: it has not been measured yet.
        return self._clock.monotonic() - self._last_at[ranker] > max(STALE_S, 2 * usual)


class TimeNeeded:
    """With less than `surely` seconds left a job is late; with less than `likely` it's not worth a try."""

    __slots__ = ("likely", "surely")

    def __init__(self, surely: float, likely: float) -> None:
        self.surely = surely
        self.likely = likely

    def is_too_late(self, job: RerankJob, now: float) -> bool:
        """Whether a job should be refused at once, so that its caller falls back early.

        A job that still has half of its time is only dropped when it is surely late: were it dropped for
        less, a ranker that is just fast enough would be asked nothing at all.

        Args:
            job: with its deadline, and when it was sent, if that is known.
            now: unix seconds, on the deadline's clock.
        """
        left = job.deadline - now
        if left < self.surely:
            return True
        half = (job.deadline - job.sent_at) / 2 if job.sent_at is not None else 0.0
        return left < min(self.likely, half)
