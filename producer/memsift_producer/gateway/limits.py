"""How many calls a minute a key may make: one token bucket per key, in this process."""

from __future__ import annotations

import math

from memsift_producer.gateway.problems import TooMany
from memsift_schemas.clock import Clock

_MINUTE_S = 60.0


class Rate:
    """A bucket that holds a minute's calls and is refilled evenly.

    Args:
        per_minute: calls per minute; as many may come at once.
        clock: tells the time.
    """

    def __init__(self, per_minute: int, clock: Clock) -> None:
        self._most = float(per_minute)
        self._clock = clock
        self._left = self._most
        self._filled_at = clock.monotonic()

    def take(self) -> None:
        """Count one call.

        Raises:
            TooMany: there is none left; says when there will be.
        """
        now = self._clock.monotonic()
        refill = (now - self._filled_at) * self._most / _MINUTE_S
        self._left = min(self._left + refill, self._most)
        self._filled_at = now
        if self._left < 1:
            raise TooMany(math.ceil((1 - self._left) * _MINUTE_S / self._most))
        self._left -= 1
