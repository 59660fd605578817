"""`memsift rank --data`: prefilter and model side by side on labelled sets."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click
from rich import box
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from memsift_ops import console, datasets
from memsift_ops.datasets import Case
from memsift_ops.errors import Failure
from memsift_ops.evaluate import AT_ONCE, METRICS, Comparison, ask_all, compare
from memsift_ops.local import PATIENT, Answering, running_or_temporary
from memsift_producer import Reranker


def rank_data(folder: Path, sets: Sequence[str], *, limit: int | None, seed: int, as_json: bool) -> None:
    """Measure and print.

    Args:
        folder: where the sets are.
        sets: their names.
        limit: queries of each set; None takes all.
        seed: which ones a limit takes.
        as_json: print JSON instead of a table.

    Raises:
        Failure: the model did not answer all.
        InvalidInput: a set is missing or wrong.
    """
    if not sets:
        there = ", ".join(datasets.available(folder)) or "none"
        raise click.UsageError(f"give --set NAME; in {folder} there is: {there}")
    loaded = {name: datasets.load(folder, name, limit=limit, seed=seed) for name in sets}
    with running_or_temporary() as answering:
        worker = answering.worker
        found = asyncio.run(_measure(loaded, answering))
    if as_json:
        head = {"runtime": worker.runtime, "model": worker.model, "strategy": worker.strategy, "seed": seed}
        console.print_json({**head, "sets": [comparison.as_json() for comparison in found]})
    else:
        click.echo(f"runtime {worker.runtime}, model {worker.model}, strategy {worker.strategy}, seed {seed}")
        _print_table(found)
    _judge(found)


async def _measure(loaded: dict[str, list[Case]], answering: Answering) -> list[Comparison]:
    found = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console.stderr(), transient=True) as progress:
        bars = {name: progress.add_task(name, total=len(cases)) for name, cases in loaded.items()}
        async with Reranker.from_url(answering.redis_url, queue=answering.queue, **PATIENT) as reranker:
            for name, cases in loaded.items():

                def answered(bar: TaskID = bars[name]) -> None:
                    progress.advance(bar)
                    answering.check()

                answers = await ask_all(cases, reranker, answered=answered)
                found.append(compare(name, answers))
    return found


def _print_table(found: Sequence[Comparison]) -> None:
    table = Table(box=box.ROUNDED)
    table.add_column("set")
    table.add_column("ranker")
    for name in METRICS:
        table.add_column(name, justify="right")
    for comparison in found:
        for ranker, means in (("prefilter", comparison.prefilter), ("model", comparison.model)):
            table.add_row(comparison.name, ranker, *(f"{means[name]:.3f}" for name in METRICS))
        table.add_section()
    console.stdout().print(table)
    for comparison in found:
        gain, low, high = comparison.mrr_difference
        click.echo(
            f"{comparison.name}: MRR {gain:+.3f} (95% interval {low:+.3f} to {high:+.3f}), "
            f"{comparison.by_model} of {comparison.queries} answered by the model, "
            f"median {comparison.median_ms:,.0f} ms with {AT_ONCE} at once"
        )


def _judge(found: Sequence[Comparison]) -> None:
    missed = sum(comparison.queries - comparison.by_model for comparison in found)
    if missed:
        raise Failure(f"{missed} queries were answered by the prefilter, so this is no measure of the model")
