"""`memsift bench gateway`."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Callable

import click
from rich.progress import Progress

from memsift_ops import bench_table, gateway_bench
from memsift_ops.commands.version import versions
from memsift_ops.console import print_json, stderr, waiting
from memsift_ops.gateway_bench import Burst, Cost
from memsift_ops.stack import Stack

# No model, 15 ms a batch; and no bound below what the burst may ask for.
SETTINGS = {
    "MEMSIFT_RUNTIME": "scripted",
    "MEMSIFT_SCRIPTED_MS": "15",
    "MEMSIFT_GATEWAY_MAX_DEADLINE_MS": "60000",
}


@click.command("gateway")
@click.option(
    "--calls", default=1000, show_default=True, type=click.IntRange(16, 100_000), help="Calls per round."
)
@click.option(
    "--rounds", default=5, show_default=True, type=click.IntRange(1, 100), help="Rounds that count."
)
@click.option(
    "--at-once", default=2000, show_default=True, type=click.IntRange(1, 20_000), help="Calls of the burst."
)
@click.option(
    "--deadline-ms",
    default=5000,
    show_default=True,
    type=click.IntRange(1, 60_000),
    help="Deadline of the burst's calls.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, calls: int, rounds: int, at_once: int, deadline_ms: int, as_json: bool) -> int:
    """Measure the HTTP gateway's CPU time per call of 50 documents beside a bare Reranker's; then a burst.

    Behind it is one worker whose runtime takes 15 ms a batch. Exit code 1 when a call of the burst had no
    answer by its deadline.
    """
    os.environ.update(SETTINGS)
    queue = f"memsift.bench.{uuid.uuid4().hex[:8]}"
    with Stack(queue) as stack, Progress(console=stderr(), transient=True) as progress:
        with waiting("starting Valkey, a worker without a model and the gateway"):
            url = stack.start_valkey()
            stack.start_worker()
            port = int(stack.start_gateway().rsplit(":", 1)[1])
            pid = stack.pid("gateway")
        task = progress.add_task("rounds", total=rounds + 1)
        step: Callable[[], None] = lambda: progress.advance(task)  # noqa: E731
        costs = asyncio.run(
            gateway_bench.cost(port, pid, url, queue, calls=calls, rounds=rounds, progress=step)
        )
        found = asyncio.run(gateway_bench.burst(port, pid, calls=at_once, deadline_ms=deadline_ms))
    if as_json:
        shown = [
            {"gateway_us": c.gateway_us, "reranker_us": c.reranker_us, "overhead_us": c.overhead_us}
            for c in costs
        ]
        print_json({"rounds": shown, "burst": found.as_dict(), "versions": versions()})
    else:
        _show(costs, found)
    return 0 if found.in_time == found.calls else 1


def _show(costs: list[Cost], burst: Burst) -> None:
    click.echo("CPU per call of 50 documents, µs")
    bench_table.show(
        {
            "gateway": [one.gateway_us for one in costs],
            "bare Reranker": [one.reranker_us for one in costs],
            "what HTTP adds": [one.overhead_us for one in costs],
        }
    )
    click.echo(
        f"{burst.calls} calls at once: {burst.answered} answered, {burst.in_time} by their deadline of "
        f"{burst.deadline_ms} ms; p50 {burst.p50_ms:.0f}, p99 {burst.p99_ms:.0f}, "
        f"slowest {burst.max_ms:.0f} ms; {burst.gateway_cpu_us:.0f} µs of CPU each"
    )
    click.echo(
        "answered by: " + ", ".join(f"{name} {count}" for name, count in sorted(burst.sources.items()))
    )
