"""A limit that finds itself: as many jobs as the runtime takes before they begin to queue in it.

TCP Vegas (Brakmo and Peterson, 1995) as Netflix's concurrency-limits uses it for servers (`VegasLimit`,
https://github.com/Netflix/concurrency-limits): from the shortest time seen and the time now follows how many
of the jobs under way merely wait. Its sibling `Gradient2` compares with a long average instead, which drifts
upwards with the load on a server whose latency grows evenly, as a batching engine's does.
"""

from __future__ import annotations

import math

# Netflix's: in units of log10(limit), how many may wait for the limit to jump, to rise, to fall.
JUMP, RISE, FALL = 1.0, 3.0, 6.0
# Measurements after which the shortest time is forgotten in two steps: a runtime with another model, or a
# slower card, is another runtime. At 10 batches a second half a minute.
WINDOW = 300


class AdaptiveLimit:
    """Vegas on batch times. Pure: no clock, no I/O.

    Args:
        start: the first limit.
        least: it never falls below.
        most: nor rises above.
    """

    def __init__(self, start: int, *, least: int, most: int) -> None:
        self._least = least
        self._most = max(most, least)
        self._limit = float(min(max(start, least), self._most))
        self._shortest = math.inf
        self._shortest_before = math.inf
        self._seen = 0

    @property
    def limit(self) -> int:
        """Jobs that may be under way now."""
        return int(self._limit)

    def update(self, seconds: float, in_flight: int) -> int:
        """Take one batch's time in.

        Args:
            seconds: from its request to its answer; what is not above 0 is ignored.
            in_flight: jobs under way when it ended, its own included. While fewer than half of the limit
                are, a short time proves nothing, and the limit stays.

        Returns:
            The limit from now on.
        """
        if not (seconds > 0 and math.isfinite(seconds)):
            return self.limit
        self._remember(seconds)
        if in_flight * 2 < self._limit:
            return self.limit
        step = max(math.log10(self._limit), 1.0)
        shortest = min(self._shortest, self._shortest_before)
        waiting = self._limit * (1 - shortest / seconds)
        if waiting <= JUMP * step:
            self._limit += FALL * step
        elif waiting < RISE * step:
            self._limit += step
        elif waiting > FALL * step:
            self._limit -= step
        self._limit = min(max(self._limit, self._least), self._most)
        return self.limit

    def _remember(self, seconds: float) -> None:
        self._seen += 1
        if self._seen >= WINDOW:
            self._seen = 0
            self._shortest_before, self._shortest = self._shortest, math.inf
        self._shortest = min(self._shortest, seconds)
