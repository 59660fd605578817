"""How much a worker gets done while it is busy."""

from __future__ import annotations

import math

from memsift_schemas.clock import Clock

# Busy seconds after which what was measured counts for a third.
MEMORY_S = 10.0
# Less than this says nothing yet.
LEAST_BUSY_S = 0.05


class Load:
    """Jobs per busy second, fading: idle time neither counts nor lets it fade."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._batches = 0
        self._jobs = 0.0
        self._busy_s = 0.0
        self._at = clock.monotonic()

    def began(self) -> None:
        """A batch goes to its ranker."""
        self._pass_time()
        self._batches += 1

    def ended(self, jobs: int) -> None:
        """It has come back; `jobs` of it were ranked."""
        self._pass_time()
        self._batches -= 1
        self._jobs += jobs

    @property
    def jobs_per_s(self) -> float | None:
        """Throughput while at least one batch was under way; None when hardly any was."""
        self._pass_time()
        return self._jobs / self._busy_s if self._busy_s >= LEAST_BUSY_S else None

    def _pass_time(self) -> None:
        now = self._clock.monotonic()
        passed, self._at = now - self._at, now
        if self._batches and passed > 0:
            kept = math.exp(-passed / MEMORY_S)
            self._jobs *= kept
            self._busy_s = self._busy_s * kept + passed
