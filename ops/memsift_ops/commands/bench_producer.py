"""`memsift bench producer`."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Callable
from pathlib import Path

import click
from rich.progress import Progress

from memsift_ops import bench_table, producer_bench
from memsift_ops.benchmarks import record
from memsift_ops.console import print_json, stderr, waiting
from memsift_ops.producer_bench import MEMORIES, Round
from memsift_ops.stack import Stack

SETTINGS = {
    "MEMSIFT_RUNTIME": "scripted",
    "MEMSIFT_SCRIPTED_MS": "15",
    "MEMSIFT_RUNTIME_CONCURRENCY": "64",
}


@click.command("producer")
@click.option(
    "--calls", default=1000, show_default=True, type=click.IntRange(16, 100_000), help="Of each round."
)
@click.option(
    "--rounds", default=5, show_default=True, type=click.IntRange(1, 100), help="Rounds that count."
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write everything as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, calls: int, rounds: int, out: Path | None, as_json: bool) -> int:
    """Measure a frontend's CPU per call enqueued and awaited, and how long the event loop is blocked.

    Calls of 50 memories, once known from earlier turns and once new; the worker's runtime takes 15 ms a
    batch. Exit code 1: a call had no answer of a worker.
    """
    os.environ.update(SETTINGS)
    queue = f"memsift.bench.{uuid.uuid4().hex[:8]}"
    result = record.begun("producer", {"calls": calls, "rounds": rounds, "memories": MEMORIES})
    with Stack(queue) as stack, Progress(console=stderr(), transient=True) as progress:
        with waiting("starting Valkey and a worker without a model"):
            url = stack.start_valkey()
            stack.start_worker()
        task = progress.add_task("rounds", total=2 * (rounds + 1))
        step: Callable[[], None] = lambda: progress.advance(task)  # noqa: E731
        found = {
            name: asyncio.run(
                producer_bench.measure(url, queue, calls=calls, rounds=rounds, new=new, progress=step)
            )
            for name, new in (("known", False), ("new", True))
        }
    result |= {name: [one.as_dict() for one in each] for name, each in found.items()}
    if out is not None:
        record.write(out, result)
    if as_json:
        print_json(result)
    else:
        for name, each in found.items():
            _show(name, each)
    return 1 if any(one.fallbacks for each in found.values() for one in each) else 0


def _show(name: str, found: list[Round]) -> None:
    click.echo(f"{MEMORIES} memories, {name}; CPU per call in µs")
    bench_table.show(
        {
            "whole call": [one.call_us for one in found],
            "prefilter": [one.prefilter_us for one in found],
            "all but the prefilter": [one.aside_us for one in found],
            "longest block, µs": [one.longest_ms * 1e3 for one in found],
            "fallbacks": [float(one.fallbacks) for one in found],
        }
    )
