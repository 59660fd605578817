"""What a worker got done in the last seconds: jobs, how full its batches were, how long answers took."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

from memsift_schemas.clock import Clock

WINDOW_S = 10.0
# At 190 batches a second, more than `memsift bench drain` does, these are the last 1.3 s; sorting their 4,000
# jobs once a second takes 0.6 ms.
MOST_BATCHES = 256
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


class Recent:
    """Notes batches as they end, and forgets them after `WINDOW_S`.

    Args:
        clock: for the window.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._batches: deque[tuple[float, int, float, list[float]]] = deque(maxlen=MOST_BATCHES)

    def note(self, items: int, *, fill: float, latencies_s: list[float]) -> None:
        """A batch has ended.

        Args:
            items: list items that it held.
            fill: as which part of a full batch it counts.
            latencies_s: of those that were ranked in time, from sending to reply.
        """
        self._batches.append((self._clock.monotonic(), items, fill, latencies_s))

    def as_dict(self) -> dict[str, Any]:
        """For the worker's card.

        Returns:
            `rate`: list items a second, 0.0 when none came. `fill`: mean share of a full batch, None without
            batches. `latency_ms`: percentiles by nearest rank of the time from sending to reply, None without
            answers.
        """
        now = self._clock.monotonic()
        while self._batches and now - self._batches[0][0] > WINDOW_S:
            self._batches.popleft()
        items = sum(batch[1] for batch in self._batches)
        known = len(self._batches) == MOST_BATCHES
        span = max(now - self._batches[0][0], 1e-3) if known else WINDOW_S
        latencies = sorted(latency for batch in self._batches for latency in batch[3])
        return {
            "rate": items / span,
            "fill": sum(batch[2] for batch in self._batches) / len(self._batches) if self._batches else None,
            "latency_ms": {name: _rank(latencies, share) * 1e3 for name, share in SHARES.items()}
            if latencies
            else None,
        }


def _rank(ordered: list[float], share: float) -> float:
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]
