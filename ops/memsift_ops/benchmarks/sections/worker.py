"""`memsift bench worker`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsift_ops.benchmarks.section import Section, Table


def section(record: Mapping[str, Any], machine: str) -> Section:
    """What one worker process holds."""
    asked = record["arguments"]
    watched = "with Flower attached" if asked["flower"] else "without Flower"
    text = [
        f"{record['jobs']:,} jobs of 11 KB at {asked['rate']:g} a second, {watched}; the fake runtime takes "
        f"{asked['batch_ms']:g} ms a batch. Latency counts from the planned arrival.",
    ]
    heads = ("p50 ms", "p95 ms", "p99 ms", "lost", "refused", "worker CPU, µs a job")
    times = [f"{record[f'p{share}_ms']:.1f}" for share in (50, 95, 99)]
    row = [*times, f"{record['lost']:g}", f"{record['refused']}", f"{record['worker_cpu_us']:.0f}"]
    command = f"memsift bench worker --rate {asked['rate']:g}"
    return Section("worker", "What one worker holds", command, machine, text, [Table(heads, [row])])
