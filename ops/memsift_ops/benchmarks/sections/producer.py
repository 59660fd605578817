"""`memsift bench producer`."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from memsift_ops.benchmarks.section import Section, Table

NUMBERS = {
    "call_us": "whole call, µs",
    "prefilter_us": "prefilter, µs",
    "aside_us": "all but the prefilter, µs",
    "longest_ms": "longest block, ms",
}


def section(record: Mapping[str, Any], machine: str) -> Section:
    """CPU of a frontend's process per call, and how long the event loop is blocked."""
    asked = record["arguments"]
    text = [
        f"CPU of the frontend's process per call of {asked['memories']} memories, enqueued and awaited, "
        f"{asked['rounds']} rounds of {asked['calls']} calls: median (least to most). Block: the most CPU "
        "that anything in the event loop takes at a stretch, garbage collection included.",
    ]
    rows = [[name, *(_told(record[name], number) for number in NUMBERS)] for name in ("known", "new")]
    table = Table(("memories", *NUMBERS.values()), rows)
    return Section(
        "producer", "What a call costs a frontend", "memsift bench producer", machine, text, [table]
    )


def _told(rounds: Sequence[Mapping[str, float]], number: str) -> str:
    values = [one[number] for one in rounds]
    digits = 2 if number.endswith("_ms") else 0
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"
