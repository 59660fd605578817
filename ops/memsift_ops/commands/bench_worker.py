"""`memsift bench worker`."""

from __future__ import annotations

import asyncio
import os
import uuid
from pathlib import Path

import click

from memsift_ops import worker_bench
from memsift_ops.benchmarks import record
from memsift_ops.console import print_json, waiting
from memsift_ops.stack import Stack

BATCH_MS = 15.0
SETTINGS = {
    "MEMSIFT_RUNTIME": "scripted",
    "MEMSIFT_SCRIPTED_MS": f"{BATCH_MS:g}",
    # As many as four batches hold.
    "MEMSIFT_RUNTIME_CONCURRENCY": "64",
}


@click.command("worker")
@click.option(
    "--rate", default=2000.0, show_default=True, type=click.FloatRange(1, 100_000), help="Jobs per second."
)
@click.option(
    "--seconds", default=20.0, show_default=True, type=click.FloatRange(1, 600), help="Of the load."
)
@click.option("--flower/--no-flower", default=True, show_default=True, help="Let Flower watch meanwhile.")
@click.option("--seed", default=1, show_default=True, help="Of the arrivals.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write everything as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, rate: float, seconds: float, flower: bool, seed: int, out: Path | None, as_json: bool) -> int:
    """Load one worker process whose runtime takes 15 ms a batch, with Flower attached.

    Jobs of 11 KB at random moments that do not wait for answers; latency counts from the planned moment.
    Exit code 1: a job was lost or refused.
    """
    os.environ.update(SETTINGS)
    queue = f"memsift.bench.{uuid.uuid4().hex[:8]}"
    asked = {"rate": rate, "seconds": seconds, "flower": flower, "seed": seed, "batch_ms": BATCH_MS}
    result = record.begun("worker", asked)
    with Stack(queue) as stack, waiting("starting Valkey, a worker without a model, and Flower") as said:
        url = stack.start_valkey()
        worker = stack.start_worker()
        if flower:
            stack.start_flower(0)
        said(f"{rate:g} jobs/s for {seconds:g} s")
        held = asyncio.run(
            worker_bench.measure(url, queue, worker.pid, rate=rate, seconds=seconds, seed=seed)
        )
    numbers = held.numbers()
    result |= {**numbers, "ms": [round(one, 3) for one in held.ms]}
    if out is not None:
        record.write(out, result)
    if as_json:
        print_json({name: value for name, value in result.items() if name != "ms"})
    else:
        times = " / ".join(f"{numbers[f'p{share}_ms'] - BATCH_MS:.1f}" for share in (50, 95, 99))
        click.echo(
            f"{held.jobs} jobs at {rate:g}/s: p50 / p95 / p99 {times} ms over the batch's {BATCH_MS:g} ms"
        )
        click.echo(
            f"lost {numbers['lost']:g}, refused {held.refused}, {held.worker_cpu_us:.0f} µs of worker CPU a "
            f"job, at most {held.behind_ms:.0f} ms behind the plan"
        )
    return 1 if numbers["lost"] or held.refused else 0
