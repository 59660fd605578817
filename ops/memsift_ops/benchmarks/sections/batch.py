"""`memsift bench batch`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsift_ops.benchmarks.curves import curves
from memsift_ops.benchmarks.section import Section, Table


def section(record: Mapping[str, Any], machine: str) -> Section:
    """Jobs per second and time by the size of a batch, and what callers wait by the window."""
    asked, sizes = record["arguments"], record["sizes"]
    how = (
        f"{asked['runtime']}, {record['model']}, strategy {asked['strategy']}, {asked['keep']} memories a job"
    )
    settings = ", ".join(f"`{name}={value:g}`" for name, value in record["recommended"].items())
    text = [
        f"{how}; each user's memories are in the cache and the questions are new; {asked['rounds']} batches "
        f"of each size in turns, medians. Recommended for this machine and a deadline of "
        f"{asked['deadline_ms']:g} ms: {settings}.",
    ]
    rows = [
        [
            size,
            f"{one['batch_ms']:.1f}",
            f"{one['jobs_per_s']:.1f}",
            f"{one['gain']:.1f}x",
            f"{one['wait']:.1f}x",
            f"{one['cpu_ms_per_job']:.1f}",
        ]
        for size, one in sizes.items()
    ]
    heads = (
        "jobs in a batch",
        "ms a batch",
        "jobs/s",
        "jobs/s beside one by one",
        "time beside one",
        "CPU ms a job",
    )
    tables = [Table(heads, rows)]
    if record.get("windows"):
        tables.append(
            Table(
                ("window ms", "calls/s", "p50 ms", "p95 ms", "p99 ms"),
                [
                    [
                        f"{one['wait_ms']:g}",
                        f"{one['rate']:.1f}",
                        *(f"{one[f'p{share}_ms']:.0f}" for share in (50, 95, 99)),
                    ]
                    for one in record["windows"]
                ],
                "Through the queue, by window",
            )
        )
    drawn = {
        "Jobs per second": curves(
            {asked["runtime"]: [(float(size), one["jobs_per_s"]) for size, one in sizes.items()]},
            "jobs per second by the size of a batch",
            over="jobs in a batch",
            unit="jobs/s",
        ),
        "Time of a batch, ms": curves(
            {asked["runtime"]: [(float(size), one["batch_ms"]) for size, one in sizes.items()]},
            "time of a batch by its size",
            over="jobs in a batch",
            unit="ms",
        ),
    }
    pictures = {title: picture for title, picture in drawn.items() if picture is not None}
    command = f"MEMSIFT_RUNTIME={asked['runtime']} MEMSIFT_STRATEGY={asked['strategy']} memsift bench batch"
    return Section("batch", "Micro-batches on the real engine", command, machine, text, tables, pictures)
