"""Each benchmark's part of the page: a function from its result file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memsift_ops.benchmarks.section import Section
from memsift_ops.benchmarks.sections import batch, cache, overload, producer, queue, rank, start, worker

# The order of the page.
SECTIONS: Mapping[str, Callable[[Mapping[str, Any], str], Section]] = {
    "queue": queue.section,
    "worker": worker.section,
    "producer": producer.section,
    "batch": batch.section,
    "rank": rank.section,
    "cache": cache.section,
    "overload": overload.section,
    "start": start.section,
}
