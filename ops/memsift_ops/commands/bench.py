"""`memsift bench`."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Callable

import click
from rich.progress import Progress

from memsift_ops import bench_table, drain_bench
from memsift_ops.commands import (
    bench_batch,
    bench_cache,
    bench_check,
    bench_gateway,
    bench_order,
    bench_producer,
    bench_profile,
    bench_queue,
    bench_rank,
    bench_report,
    bench_start,
    bench_worker,
)
from memsift_ops.commands.version import versions
from memsift_ops.console import print_json, stderr, waiting
from memsift_ops.drain_bench import Round
from memsift_ops.stack import Stack

# The runtime that the design was measured with: no model, 15 ms a batch.
SCRIPTED = {"MEMSIFT_RUNTIME": "scripted", "MEMSIFT_SCRIPTED_MS": "15"}


@click.group("bench")
def command() -> None:
    """Measure memsift on this machine."""


for one in (
    bench_batch,
    bench_cache,
    bench_check,
    bench_gateway,
    bench_order,
    bench_producer,
    bench_profile,
    bench_queue,
    bench_rank,
    bench_report,
    bench_start,
    bench_worker,
):
    command.add_command(one.command)


@command.command("drain")
@click.option(
    "--jobs", default=1000, show_default=True, type=click.IntRange(1, 100_000), help="Jobs per burst."
)
@click.option(
    "--rounds", default=5, show_default=True, type=click.IntRange(1, 100), help="Bursts that count."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def drain(*, jobs: int, rounds: int, as_json: bool) -> int:
    """Push bursts of jobs at one worker whose runtime takes 15 ms a batch, and count its CPU time.

    Judge by CPU time per job: on a machine that others use too, wall time says little.
    """
    os.environ.update(SCRIPTED)
    queue = f"memsift.bench.{uuid.uuid4().hex[:8]}"
    with Stack(queue) as stack, Progress(console=stderr(), transient=True) as progress:
        with waiting("starting Valkey and a worker without a model"):
            url = stack.start_valkey()
            worker = stack.start_worker()
        task = progress.add_task("bursts", total=rounds + 1)
        step: Callable[[], None] = lambda: progress.advance(task)  # noqa: E731
        found = asyncio.run(
            drain_bench.measure(url, queue, worker.pid, jobs=jobs, rounds=rounds, progress=step)
        )
    lost = sum(one.jobs - one.answered for one in found)
    if as_json:
        print_json({"rounds": [one.as_dict() for one in found], "lost": lost, "versions": versions()})
    else:
        _show(found, lost)
    return 1 if lost else 0


def _show(found: list[Round], lost: int) -> None:
    click.echo(f"{len(found)} bursts of {found[0].jobs} jobs, {found[0].job_bytes / 1000:.1f} kB each")
    rows: dict[str, list[float]] = {
        "worker CPU per job, µs": [one.worker_cpu_us for one in found],
        "jobs per CPU second": [one.jobs_per_cpu_s for one in found],
        "jobs per second, wall": [one.jobs / one.seconds for one in found],
        "furthest out of order": [float(one.furthest_out_of_order) for one in found],
    }
    bench_table.show(rows)
    click.echo(f"{'lost':<25}{lost:>9}")
