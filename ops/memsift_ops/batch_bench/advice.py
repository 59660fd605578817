"""Which settings the measurements speak for."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from memsift_ops.batch_bench.sizes import Timed
from memsift_ops.batch_bench.windows import Waited

# Of two settings that differ by less than this, the smaller one.
SAME = 0.05
# A batch may take this part of the deadline: a job that just missed one waits for it, and then for its own.
SHARE = 0.5


def by_size(timed: Sequence[Timed]) -> dict[str, dict[str, float]]:
    """For each size the median time of a batch, jobs per second, and both beside one by one.

    `gain` is jobs per second over those one by one; `wait` is what a job of the batch waits, over the time
    of a single one: the engine's own light load, at which nobody else is there.
    """
    sizes = sorted({one.size for one in timed})
    ms = {size: statistics.median(one.ms for one in timed if one.size == size) for size in sizes}
    single = ms[sizes[0]] / sizes[0]
    return {
        str(size): {
            "batch_ms": round(ms[size], 3),
            "least_ms": round(min(one.ms for one in timed if one.size == size), 3),
            "jobs_per_s": round(size / ms[size] * 1e3, 3),
            "cpu_ms_per_job": round(
                statistics.median(one.cpu_ms / size for one in timed if one.size == size), 3
            ),
            "gain": round(size * single / ms[size], 3),
            "wait": round(ms[size] / single, 3),
        }
        for size in sizes
    }


def batch_max(sizes: Mapping[str, Mapping[str, float]], deadline_ms: float) -> int:
    """The smallest batch that gets most done and takes at most `SHARE` of the deadline."""
    fitting = {int(size): one for size, one in sizes.items() if one["batch_ms"] <= SHARE * deadline_ms}
    if not fitting:
        return min(map(int, sizes))
    most = max(one["jobs_per_s"] for one in fitting.values())
    return min(size for size, one in fitting.items() if one["jobs_per_s"] >= most * (1 - SAME))


def wait_ms(waited: Sequence[Waited]) -> float:
    """The shortest window whose 95th percentile is hardly above the lowest."""
    numbers = [one.numbers() for one in waited]
    least = min(one["p95_ms"] for one in numbers)
    return min(one["wait_ms"] for one in numbers if one["p95_ms"] <= least * (1 + SAME))
