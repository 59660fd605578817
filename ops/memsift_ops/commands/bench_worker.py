"""`memsift bench worker`."""

from __future__ import annotations

import asyncio
import os
import uuid
from pathlib import Path
from typing import Any

import click
from rich.progress import Progress
from rich.table import Table

from memsift_ops import services, worker_bench
from memsift_ops.benchmarks import record
from memsift_ops.console import print_json, stderr, stdout
from memsift_ops.peers.systems import MEMSIFT, QUEUE_ALONE
from memsift_ops.stack import Stack
from memsift_ops.worker_bench import Held

BATCH_MS = 15.0
SETTINGS = {
    "MEMSIFT_RUNTIME": "scripted",
    "MEMSIFT_SCRIPTED_MS": f"{BATCH_MS:g}",
    # As many as four batches hold.
    "MEMSIFT_RUNTIME_CONCURRENCY": "64",
}
APPS = {MEMSIFT: services.APP, QUEUE_ALONE: "memsift_ops.peers.peer_side.bare_worker"}
RATES = (500.0, 1000.0, 1500.0, 2000.0)


@click.command("worker")
@click.option(
    "--rate",
    "rates",
    multiple=True,
    default=RATES,
    show_default=True,
    type=click.FloatRange(1, 100_000),
    help="Jobs per second; may be given several times.",
)
@click.option(
    "--seconds", default=15.0, show_default=True, type=click.FloatRange(1, 600), help="Of each load."
)
@click.option("--flower/--no-flower", default=True, show_default=True, help="Let Flower watch meanwhile.")
@click.option("--seed", default=1, show_default=True, help="Of the arrivals.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write everything as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    *, rates: tuple[float, ...], seconds: float, flower: bool, seed: int, out: Path | None, as_json: bool
) -> int:
    """Load one worker process whose runtime takes 15 ms a batch, with Flower attached.

    Jobs of 11 KB at random moments that do not wait for answers; latency counts from the planned moment. Once
    with a worker as it is, which asks 20 prompts a job, and once with one that writes no prompts and reads no
    scores: the queue alone. Exit code 1: a job was lost or refused.
    """
    os.environ.update(SETTINGS)
    asked = {"rates": rates, "seconds": seconds, "flower": flower, "seed": seed, "batch_ms": BATCH_MS}
    result = record.begun("worker", asked)
    held: dict[str, dict[str, Held]] = {}
    with Progress(console=stderr(), transient=True) as progress:
        task = progress.add_task("loads", total=len(APPS) * len(rates))
        for name, app in APPS.items():
            queue = f"memsift.bench.{uuid.uuid4().hex[:8]}"
            with Stack(queue) as stack:
                url = stack.start_valkey()
                worker = stack.start_worker(app=app)
                if flower:
                    stack.start_flower(0)
                held[name] = {}
                for rate in sorted(rates):
                    held[name][f"{rate:g}"] = asyncio.run(
                        worker_bench.measure(url, queue, worker.pid, rate=rate, seconds=seconds, seed=seed)
                    )
                    progress.advance(task)
    result["held"] = _told(held, Held.numbers)
    if out is not None:
        record.write(out, {**result, "ms": _told(held, lambda one: [round(ms, 3) for ms in one.ms])})
    if as_json:
        print_json(result)
    else:
        _show(held)
    return 1 if any(one.refused or one.lost for each in held.values() for one in each.values()) else 0


def _told(held: dict[str, dict[str, Held]], what: Any) -> dict[str, dict[str, Any]]:
    return {name: {rate: what(one) for rate, one in each.items()} for name, each in held.items()}


def _show(held: dict[str, dict[str, Held]]) -> None:
    table = Table(title=f"Milliseconds over the batch's {BATCH_MS:g}", title_justify="left")
    for head in ("worker", "jobs/s", "p50", "p95", "p99", "lost", "refused", "CPU, µs a job"):
        table.add_column(head, justify="left" if head == "worker" else "right")
    for name, each in held.items():
        for rate, one in each.items():
            told = one.numbers()
            times = [f"{told[f'p{share}_ms'] - BATCH_MS:.1f}" for share in (50, 95, 99)]
            table.add_row(name, rate, *times, str(one.lost), str(one.refused), f"{one.worker_cpu_us:.0f}")
    stdout().print(table)
