"""The memory of every process over time, and how much of it grew after the warm-up."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psutil

EVERY_S = 0.5
MEBI = 1 << 20
# Caches fill and the allocator takes its arenas in the first part of a run; what counts comes after it.
WARM_UP = 0.4
# A median of so much of the run at either end, since the collector makes single samples jump.
WINDOW = 0.2
MIN_SAMPLES = 5


@dataclass(frozen=True, slots=True)
class Growth:
    """One process's resident memory.

    Attributes:
        warm_mib: median just after the warm-up.
        end_mib: median at the end.
    """

    warm_mib: float
    end_mib: float

    @property
    def mib(self) -> float:
        """What was added."""
        return self.end_mib - self.warm_mib


class Memory:
    """Samples of resident memory by process; a restart begins anew."""

    def __init__(self) -> None:
        self._samples: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
        self._next_at = 0.0

    def sample(self, pids: Mapping[str, int]) -> None:
        """Take one sample of each, at most twice a second."""
        if time.monotonic() < self._next_at:
            return
        self._next_at = time.monotonic() + EVERY_S
        for name, pid in pids.items():
            try:
                self._samples[name, pid].append(psutil.Process(pid).memory_info().rss / MEBI)
            except psutil.Error:
                continue

    def forget(self) -> None:
        """Begin anew."""
        self._samples.clear()

    def growth(self) -> dict[str, Growth]:
        """By process, of those that ran long enough without a restart to tell."""
        return {
            name: found
            for (name, _), values in self._samples.items()
            if (found := growth(values)) is not None
        }


def growth(values: Sequence[float]) -> Growth | None:
    """What was added after the warm-up.

    Args:
        values: MiB, evenly spaced in time.
    """
    warm = values[int(len(values) * WARM_UP) :][: max(int(len(values) * WINDOW), 1)]
    end = values[-max(int(len(values) * WINDOW), 1) :]
    if len(values) < MIN_SAMPLES:
        return None
    return Growth(statistics.median(warm), statistics.median(end))
