"""Time, injected: the Redis server's clock is the one that deadlines are written in."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where time comes from."""

    def time(self) -> float:
        """Unix seconds, on the clock that deadlines use."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, for durations."""
        ...


class SystemClock:
    """This machine's clocks."""

    def time(self) -> float:
        """Unix seconds on this machine."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()


class ServerClock:
    """The Redis server's clock, kept as an offset to this machine's.

    A worker whose own clock is 2 s ahead would otherwise expire every job. The time between two
    measurements is carried by the monotonic clock, so that a step of this machine's clock does no harm.
    """

    def __init__(self, local: Clock | None = None) -> None:
        self._local = local or SystemClock()
        self._offset = self._local.time() - self._local.monotonic()

    def time(self) -> float:
        """Unix seconds on the server's clock, as of the last `measured`."""
        return self._local.monotonic() + self._offset

    def monotonic(self) -> float:
        """Seconds that never go back, on this machine."""
        return self._local.monotonic()

    @property
    def skew_s(self) -> float:
        """Seconds that this machine's own clock is ahead of the server's, as of the last `measured`."""
        return self._local.time() - self.time()

    def measured(self, server_seconds: float, *, sent: float, received: float) -> None:
        """Take over one reading of Redis `TIME`.

        Args:
            server_seconds: the server's unix time.
            sent: `monotonic()` when the command was sent.
            received: `monotonic()` when its answer came; the reading is taken to be from the middle.
        """
        self._offset = server_seconds - (sent + received) / 2
