"""`memsift bench queue`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import click
from rich.progress import Progress
from rich.table import Table

from memsift_ops.benchmarks import record
from memsift_ops.console import print_json, stderr, stdout, waiting
from memsift_ops.errors import Refused
from memsift_ops.peers.round import DEADLINE_MS, IDLE, Plan
from memsift_ops.peers.running import compare, described, install
from memsift_ops.peers.summary import summarise
from memsift_ops.peers.systems import MEMSIFT, QUEUE_ALONE, System, systems

RATES = (IDLE, "50", "200", "500", "1000")
# What fits into a minute, where the environments are there.
QUICK = {
    "systems": (MEMSIFT, QUEUE_ALONE, "celery", "saq"),
    "rates": (IDLE, "200"),
    "seconds": 3.0,
    "backlog": 600,
}
BATCHED, NOTHING = "batched", "nothing"


@click.command("queue")
@click.option(
    "--system", "names", multiple=True, help="Only these; default: all, with --quick memsift, celery and saq."
)
@click.option(
    "--rate", "rates", multiple=True, help="`idle` or jobs per second.  [default: " + ", ".join(RATES) + "]"
)
@click.option(
    "--task",
    "tasks",
    multiple=True,
    type=click.Choice((BATCHED, NOTHING)),
    help="The fake runtime that takes --batch-ms a batch, or a task that does nothing.  [default: both]",
)
@click.option(
    "--seconds", type=click.FloatRange(0.5, 600), default=8.0, show_default=True, help="Of each load."
)
@click.option(
    "--rounds", type=click.IntRange(1, 100), default=3, show_default=True, help="Each with other arrivals."
)
@click.option(
    "--backlog", type=click.IntRange(200, 100_000), default=2000, show_default=True, help="Jobs to drain."
)
@click.option(
    "--batch-ms",
    type=click.FloatRange(0.1, 10_000),
    default=15.0,
    show_default=True,
    help="What a batch takes.",
)
@click.option(
    "--wait-ms",
    type=click.FloatRange(0, 1000),
    default=8.0,
    show_default=True,
    help="What a batch waits to fill.",
)
@click.option(
    "--batch-max", type=click.IntRange(1, 1024), default=16, show_default=True, help="Jobs in a batch."
)
@click.option("--batches", type=click.IntRange(1, 64), default=4, show_default=True, help="Batches at once.")
@click.option("--seed", default=1, show_default=True, help="Of the arrivals.")
@click.option("--quick", is_flag=True, help="A minute: one round, few systems and loads.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write everything as JSON, every latency too.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    *,
    names: tuple[str, ...],
    rates: tuple[str, ...],
    tasks: tuple[str, ...],
    seconds: float,
    rounds: int,
    backlog: int,
    batch_ms: float,
    wait_ms: float,
    batch_max: int,
    batches: int,
    seed: int,
    quick: bool,
    out: Path | None,
    as_json: bool,
) -> int:
    """Compare memsift's queue with others: enqueue to result, open-loop arrivals, CPU on both sides.

    Every system does the same jobs of 11 KB on the same Valkey, in turns, each as its own documentation wants
    it for low latency, from a virtual environment of its own that is made at the first use. Judge by the
    ratios, and on a machine that does nothing else.
    """
    if quick:
        names, rates = names or QUICK["systems"], rates or QUICK["rates"]  # type: ignore[assignment]
        tasks, seconds, rounds, backlog = tasks or (BATCHED,), QUICK["seconds"], 1, QUICK["backlog"]  # type: ignore[assignment]
    chosen = _chosen(names)
    plan = Plan(_rates(rates), seconds, backlog, batch_ms, wait_ms, batch_max, batches, seed)
    result = record.begun("queue", {**dataclasses.asdict(plan), "rounds": rounds, "deadline_ms": DEADLINE_MS})
    with waiting("looking for the systems' environments") as said:
        install(chosen, said)
    asked = tasks or (BATCHED, NOTHING)
    with Progress(console=stderr(), transient=True) as progress:
        bar = progress.add_task("", total=len(asked) * rounds * len(chosen) * (1 + len(plan.rates)))
        for task in asked:
            # A task that does nothing has no batches to fill.
            now = plan if task == BATCHED else dataclasses.replace(plan, batch_ms=0.0, wait_ms=0.0)
            found, failed = compare(
                chosen,
                now,
                rounds=rounds,
                progress=lambda what: progress.update(bar, description=what, advance=1),
            )
            if MEMSIFT not in found and MEMSIFT in {one.name for one in chosen}:
                raise click.ClickException(failed[MEMSIFT])
            measured = {**summarise(found), "failed": failed, "rounds": found}
            result |= measured if task == asked[0] else {"nothing": measured}
    result["about"] = described(chosen)
    if out is not None:
        record.write(out, result)
    if as_json:
        print_json(_without_rounds(result))
    else:
        _show(result)
        if "nothing" in result:
            _show(result["nothing"], title="A task that does nothing")
    return 0


def _chosen(names: tuple[str, ...]) -> list[System]:
    known = systems()
    for name in names:
        if name not in known:
            raise Refused(f"--system {name}: known are {', '.join(known)}")
    return [known[name] for name in names or known]


def _rates(rates: tuple[str, ...]) -> tuple[str, ...]:
    for rate in rates:
        if rate != IDLE and not (rate.isdecimal() and 0 < int(rate) <= 100_000):  # noqa: PLR2004
            raise Refused(f"--rate {rate}: is neither `idle` nor jobs per second")
    return tuple(sorted(rates or RATES, key=lambda rate: 0 if rate == IDLE else int(rate)))


def _without_rounds(result: dict[str, Any]) -> dict[str, Any]:
    told = {name: value for name, value in result.items() if name != "rounds"}
    if "nothing" in told:
        told["nothing"] = _without_rounds(told["nothing"])
    return told


def _show(found: dict[str, Any], title: str = "Enqueue to result") -> None:
    table = Table(title=title, title_justify="left")
    columns = ("system", "jobs/s", "p50", "p95", "p99 ms", "late", "lost", "worker", "prod. µs")
    for at, column in enumerate(columns):
        table.add_column(column, justify="right" if at else "left", no_wrap=True)
    for name, system in found["systems"].items():
        for at, (load, one) in enumerate(
            (key, value) for key, value in system.items() if isinstance(value, dict)
        ):
            times = (f"{one[f'p{share}_ms']:.0f}" for share in (50, 95, 99))
            cpu = (f"{one[f'{side}_cpu_us']:.0f}" for side in ("worker", "producer"))
            table.add_row("" if at else name, load, *times, str(one["late"]), str(one["lost"]), *cpu)
        drained = f"{system['drain_jobs_per_s']:.0f}/s", f"{system['drain_worker_cpu_us']:.0f}"
        table.add_row("", "drain", drained[0], "", "", "", "", drained[1], "", end_section=True)
    stdout().print(table)
    for name, why in found["failed"].items():
        click.echo(f"{name} was not measured: {why}", err=True)
    for name, each in found["ratios"].items():
        core = each["jobs_per_worker_core"]
        click.echo(
            f"{name:<28} memsift does {core['median']:.1f} times its jobs per worker core "
            f"({core['least']:.1f} to {core['most']:.1f})"
        )
