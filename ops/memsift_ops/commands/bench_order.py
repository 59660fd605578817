"""`memsift bench order`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.progress import Progress

from memsift_ops import datasets
from memsift_ops.cache_bench import options, sessions
from memsift_ops.cache_bench import orders as asking
from memsift_ops.cache_bench.replay import job_of
from memsift_ops.commands.version import versions
from memsift_ops.console import print_json, stderr
from memsift_ops.datasets import Case
from memsift_ops.errors import Failure
from memsift_schemas import settings as settings_module
from memsift_schemas.settings import ProducerSettings, WorkerSettings
from memsift_schemas.settings.producer import KEPT
from memsift_workers.assembly import build_runtime
from memsift_workers.runtimes.base import RuntimeFault
from memsift_workers.strategies.listwise import Listwise
from memsift_workers.strategies.templates import TEMPLATES


@click.command("order")
@options.data
@click.option(
    "--questions", default=60, show_default=True, type=click.IntRange(1), help="Questions of each set."
)
@click.option(
    "--orders", default=3, show_default=True, type=click.IntRange(2, 20), help="Random orders of each deck."
)
@click.option("--seed", default=1, show_default=True, help="Of questions and orders.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    *, data: Path | None, sets: tuple[str, ...], questions: int, orders: int, seed: int, as_json: bool
) -> int:
    """Shuffle decks, and see how far rankings move with the labels' bias left in and taken off."""
    cases = _cases(data, sets, questions, seed)
    with Progress(console=stderr(), transient=True) as progress:
        task = progress.add_task("questions", total=sum(map(len, cases.values())))
        step: Callable[[], None] = lambda: progress.advance(task)  # noqa: E731
        found = asyncio.run(_measure(cases, orders, seed, step))
    if as_json:
        print_json({"sets": found, "versions": versions()})
    else:
        _show(found)
    return 0


def _cases(data: Path | None, sets: tuple[str, ...], questions: int, seed: int) -> dict[str, list[Case]]:
    names = options.chosen(data, sets)
    if data is None:
        return {one.name: list(one.cases[:questions]) for one in sessions.own()}
    return {name: datasets.load(data, name, limit=questions, seed=seed) for name in names}


async def _measure(
    cases: dict[str, list[Case]], orders: int, seed: int, step: Callable[[], None]
) -> dict[str, Any]:
    settings = settings_module.load(WorkerSettings)
    runtime = build_runtime(settings)
    # At equal weight the languages can be compared.
    strategy = Listwise(TEMPLATES[settings.chat_template], weight_en=1.0, weight_zh=1.0)
    kept = ProducerSettings(prefilter_keep=KEPT)
    try:
        await runtime.start()
        strategy.use_labels(await runtime.usable_labels(strategy.labels))
        found = {}
        for name, asked in cases.items():
            jobs = [(case, job_of(case, case.user, kept)) for case in asked]
            ordered = await asking.ask(jobs, runtime, strategy, orders=orders, seed=seed, progress=step)
            found[name] = asking.summarise(ordered)
        return found
    except RuntimeFault as fault:
        raise Failure(str(fault)) from None
    finally:
        await runtime.close()


def _show(found: dict[str, Any]) -> None:
    click.echo(f"{'':<14}{'labels':<12}{'first three in common':>22}{'rank correlation':>18}{'MRR':>8}")
    for name, one in found.items():
        for kind in ("bare", "corrected"):
            numbers = one[kind]
            click.echo(
                f"{name:<14}{kind:<12}{numbers['first_three_in_common']:>22.2f}"
                f"{numbers['rank_correlation']:>18.2f}{numbers['mrr']:>8.3f}"
            )
