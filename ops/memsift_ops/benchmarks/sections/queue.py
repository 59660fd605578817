"""`memsift bench queue`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memsift_ops.benchmarks.curves import curves
from memsift_ops.benchmarks.section import Section, Table
from memsift_ops.evaluation.markup import Markup
from memsift_ops.evaluation.plots.amounts import amounts
from memsift_ops.peers.round import IDLE, IDLE_RATE
from memsift_ops.peers.systems import MEMSIFT

HOW = (
    "Open-loop arrivals (Poisson, the same for all), jobs of 11 KB, one worker process each, {rounds} rounds "
    "of {seconds:g} s, the systems in turns on one Valkey. Latency counts from the planned arrival. Late: "
    "after {deadline_ms:g} ms, or not answered by a worker; lost: never. The fake runtime takes {batch_ms:g} "
    "ms for a batch of up to {batch_max} jobs, {batches} at once; a batch waits {wait_ms:g} ms to fill while "
    "another is under way."
)
OTHERS = (
    "The others send a ready dict; memsift's producer also validates and ranks by its prefilter, whose CPU "
    "stands by itself."
)
SIDES = ("worker", "producer", "prefilter", "redis")
# What the ratios are shown of; `--out` holds them all, at each load.
SHOWN_LOADS = ("200", "1000")
SHOWN = {
    "p50_ms": "p50",
    "p99_ms": "p99",
    "worker_cpu_us": "worker CPU",
    "producer_aside_us": "producer CPU, prefilter aside,",
}


def section(record: Mapping[str, Any], machine: str) -> Section:
    """Latency, lost jobs and CPU of every system, and how many times memsift's each is."""
    asked = record["arguments"]
    text = [HOW.format(**asked), OTHERS]
    text += [f"{name} was not measured: {why}" for name, why in record["failed"].items()]
    tables = [*_tables(record, ""), _setups(record["about"])]
    if "nothing" in record:
        tables += _tables(record["nothing"], "A task that does nothing: ")
    return Section(
        "queue", "The queue, beside others", "memsift bench queue", machine, text, tables, _pictures(record)
    )


def _pictures(record: Mapping[str, Any]) -> dict[str, Markup]:
    systems = record["systems"]
    drawn = {
        "p99, ms": curves(
            _over_load(systems, "p99_ms"), "99th percentile of the latency", over="jobs/s", unit="ms"
        ),
        "p50, ms": curves(_over_load(systems, "p50_ms"), "median latency", over="jobs/s", unit="ms"),
        "Worker CPU, µs a job": curves(
            _over_load(systems, "worker_cpu_us"), "CPU of the worker per job", over="jobs/s", unit="µs"
        ),
        "Producer CPU, µs a job": curves(
            _over_load(systems, "producer_cpu_us"), "CPU of the producer per job", over="jobs/s", unit="µs"
        ),
        "Jobs per second of a worker's core": amounts(
            {name: one["drain_jobs_per_cpu_s"] for name, one in systems.items()}, "jobs per CPU second"
        ),
    }
    return {title: picture for title, picture in drawn.items() if picture is not None}


def _over_load(systems: Mapping[str, Any], number: str) -> dict[str, list[tuple[float, float]]]:
    return {
        name: [
            (IDLE_RATE if load == IDLE else float(load), max(one[number], 1e-3))
            for load, one in _loads(system)
        ]
        for name, system in systems.items()
    }


def _loads(system: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(load, one) for load, one in system.items() if isinstance(one, dict)]


def _tables(record: Mapping[str, Any], before: str) -> list[Table]:
    rows: list[Sequence[str]] = []
    for name, system in record["systems"].items():
        for load, one in _loads(system):
            times = " / ".join(f"{one[f'p{share}_ms']:.0f}" for share in (50, 95, 99))
            cpu = (f"{one[f'{side}_cpu_us']:.0f}" for side in SIDES)
            rows.append(
                [name, load, times, *(f"{one[what]} of {one['calls']}" for what in ("late", "lost")), *cpu]
            )
    columns = ("system", "jobs/s", "p50 / p95 / p99 ms", "late", "lost", *(f"{side} µs" for side in SIDES))
    drains = [
        [
            name,
            f"{one['drain_jobs_per_s']:.0f}",
            f"{one['drain_jobs_per_cpu_s']:.0f}",
            f"{one['drain_worker_cpu_us']:.0f}",
        ]
        for name, one in record["systems"].items()
    ]
    return [
        *_ratios(record["ratios"], before),
        Table(columns, rows, f"{before}CPU per job on each side; medians over the rounds"),
        Table(
            ("system", "jobs/s", "jobs per CPU second", "worker µs"),
            drains,
            f"{before}a backlog drained by one worker",
        ),
    ]


def _ratios(ratios: Mapping[str, Any], before: str) -> list[Table]:
    """One row for each peer: what no load bounds, and a few numbers at a light and at a heavy load."""
    if not ratios:
        return []
    measured = next(iter(ratios.values()))
    loads = [load for load in SHOWN_LOADS if load in measured] or list(measured)[-1:]
    shown = [(load, number) for load in loads for number in SHOWN]
    rows = [
        [name, _told(each["jobs_per_worker_core"]), *(_told(each[load][number]) for load, number in shown)]
        for name, each in ratios.items()
    ]
    columns = ("beside", "jobs a worker core", *(f"{SHOWN[number]} at {load}/s" for load, number in shown))
    caption = f"{before}how many times better {MEMSIFT}'s number is (least to most over the rounds)"
    return [Table(columns, rows, caption)]


def _told(ratio: Mapping[str, float]) -> str:
    return f"{ratio['median']:.1f}x ({ratio['least']:.1f}-{ratio['most']:.1f})"


def _setups(about: Mapping[str, str]) -> Table:
    return Table(("system", "how it is set up"), list(about.items()))
