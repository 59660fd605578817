"""How much a worker gets done when it has all that it can take."""

from __future__ import annotations

import math

from memsift_schemas.clock import Clock
from memsift_schemas.settings import WorkerSettings

# Seconds at capacity after which what was measured counts for a third.
MEMORY_S = 10.0
# Less than this says nothing yet.
LEAST_S = 0.05


class Load:
    """Jobs per second at capacity, fading: other time neither counts nor lets it fade.

    At capacity a worker is from when it has all the batches that its limits allow, each as full as there was
    room for, until one comes that is not full, or none is left. Small batches say nothing about it: a batch
    of one takes as long as a batch of sixteen where the model has room for both.
    """

    def __init__(self, clock: Clock, *, batches: int) -> None:
        """Nothing is known yet.

        Args:
            clock: for the time that passes.
            batches: how many at once use all of the worker's limits.
        """
        self._clock = clock
        self._most = batches
        self._batches = 0
        self._at_capacity = False
        self._jobs = 0.0
        self._seconds = 0.0
        self._at = clock.monotonic()

    def capacity_is(self, batches: int) -> None:
        """From now on so many batches at once use all of the worker's limits."""
        self._most = batches

    def began(self, *, full: bool) -> None:
        """A batch goes to its ranker; `full` when more jobs waited than it had room for, or just as many."""
        self._pass_time()
        self._batches += 1
        self._at_capacity = full and (self._at_capacity or self._batches >= self._most)

    def ended(self, jobs: int) -> None:
        """It has come back; `jobs` of it were ranked."""
        self._pass_time()
        self._batches -= 1
        if self._at_capacity:
            self._jobs += jobs
        self._at_capacity = self._at_capacity and self._batches > 0

    @property
    def jobs_per_s(self) -> float | None:
        """Throughput at capacity; None when there was hardly any such time."""
        self._pass_time()
        return self._jobs / self._seconds if self._seconds >= LEAST_S else None

    def _pass_time(self) -> None:
        now = self._clock.monotonic()
        passed, self._at = now - self._at, now
        if self._at_capacity and passed > 0:
            kept = math.exp(-passed / MEMORY_S)
            self._jobs *= kept
            self._seconds = self._seconds * kept + passed


def batches_at_capacity(settings: WorkerSettings) -> int:
    """How many full batches at once use all that a worker's limits allow."""
    if not settings.uses_runtime:
        return settings.batches_in_flight
    # A limit that follows the latency may go down to its least.
    limit = settings.adaptive_min if settings.adaptive_concurrency else settings.runtime_concurrency
    return min(settings.batches_in_flight, math.ceil(limit / settings.batch_max))
