"""`memsift bench worker`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsift_ops.benchmarks.curves import curves
from memsift_ops.benchmarks.section import Section, Table
from memsift_ops.evaluation.markup import Markup
from memsift_ops.peers.systems import QUEUE_ALONE


def section(record: Mapping[str, Any], machine: str) -> Section:
    """What one worker process holds."""
    asked, held = record["arguments"], record["held"]
    watched = "with Flower attached" if asked["flower"] else "without Flower"
    text = [
        f"Jobs of 11 KB for {asked['seconds']:g} s at each rate, {watched}; the fake runtime takes "
        f"{asked['batch_ms']:g} ms a batch, which is in the times. Latency counts from the planned arrival. "
        f"`{QUEUE_ALONE}`: a worker that writes no prompts and reads no scores.",
    ]
    heads = ("worker", "jobs/s", "p50 ms", "p95 ms", "p99 ms", "lost", "refused", "worker CPU, µs a job")
    rows = [
        [
            f"`{name}`",
            rate,
            *(f"{one[f'p{share}_ms']:.1f}" for share in (50, 95, 99)),
            f"{one['lost']:g}",
            f"{one['refused']:g}",
            f"{one['worker_cpu_us']:.0f}",
        ]
        for name, each in held.items()
        for rate, one in each.items()
    ]
    tables, pictures = [Table(heads, rows)], _pictures(held)
    return Section("worker", "What one worker holds", "memsift bench worker", machine, text, tables, pictures)


def _pictures(held: Mapping[str, Mapping[str, Any]]) -> dict[str, Markup]:
    points = {
        name: [(float(rate), one["p99_ms"]) for rate, one in each.items()] for name, each in held.items()
    }
    picture = curves(points, "99th percentile of the latency", over="jobs/s", unit="ms")
    return {"p99, ms": picture} if picture else {}
