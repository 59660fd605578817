"""Runs an evaluation: asks what is still to be asked, and puts the report together."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psutil
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from memsift_ops import console
from memsift_ops.commands.version import versions
from memsift_ops.datasets import Case
from memsift_ops.errors import Refused
from memsift_ops.evaluation import asking, deployment, names, prices, worker
from memsift_ops.evaluation.outcome import PREFILTER, Outcome
from memsift_ops.evaluation.prices import PriceFile
from memsift_ops.evaluation.run_file import RunFile
from memsift_ops.evaluation.summary import summarise
from memsift_ops.local import PATIENT, Answering
from memsift_producer import Reranker
from memsift_schemas import settings
from memsift_schemas.settings import WorkerSettings

Todo = list[tuple[str, str, list[Case]]]
Asked = Mapping[str, Sequence[Case]]


def complete(run: RunFile, asked: Asked, rankers: Sequence[str], *, concurrency: int) -> None:
    """Ask what the run lacks, with a progress bar on stderr; starts a worker only if one is needed.

    Args:
        run: gets every outcome.
        asked: the questions of each set.
        rankers: all of the run.
        concurrency: questions under way at once.

    Raises:
        Failure: a process ended, or a running worker does not serve a ranker.
        Refused: another worker answered the run's first part, or one runs that has another strategy.
    """
    todo = asking.missing(asked, rankers, {outcome.key for outcome in run.outcomes})
    total = sum(map(len, asked.values())) * len(rankers)
    groups = names.by_strategy(ranker for ranker in rankers if ranker != PREFILTER)
    strategies = [strategy for strategy in groups if strategy is not None]
    left = {strategy: group for strategy, group in groups.items() if any(one[1] in group for one in todo)}
    if not left:
        run.begin(_about(rankers, None, strategies))
        _ask(run, todo, total, concurrency, None)
        return
    if strategies:
        worker.check_strategies(strategies)
    for strategy, group in left.items():
        # All of its group, also what is answered already: then it is the worker that answered before.
        with worker.serving([names.asked(ranker) for ranker in group], strategy) as answering:
            about = _about(rankers, answering, strategies)
            # Without a strategy beside others, it runs no model that the run could tell of.
            alone = strategy is None and strategies
            if run.about not in (None, about) and not alone:
                raise Refused(
                    "another worker answered the first part of this run: name another file for --run"
                )
            run.begin(about)
            mine = {PREFILTER, *group}
            _ask(run, [one for one in todo if one[1] in mine], total, concurrency, answering)
            todo = [one for one in todo if one[1] not in mine]


def _about(rankers: Sequence[str], answering: Answering | None, strategies: Sequence[str]) -> dict[str, Any]:
    """Who answers, for the report."""
    worker_settings = settings.load(WorkerSettings)
    ours = answering is not None and answering.stack is not None
    told = answering.worker.model_dump(include={"runtime", "model", "strategy"}) if answering else None
    if told and strategies:
        told["strategy"] = ", ".join(strategies)
    leaves = {ranker: deployment.leaves_network(ranker, worker_settings, ours=ours) for ranker in rankers}
    return {"worker": told, "temporary_worker": ours, "leaves_network": leaves}


def _ask(run: RunFile, todo: Todo, total: int, concurrency: int, answering: Answering | None) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console.stderr(), transient=True) as progress:
        bar = progress.add_task("", total=total, completed=len(run.outcomes))

        def done(outcome: Outcome) -> None:
            run.add(outcome)
            progress.update(bar, advance=1, description=escape(f"{outcome.set}, {outcome.ranker}"))
            if answering is not None:
                answering.check()

        asyncio.run(_ask_all(todo, concurrency, answering, done))


async def _ask_all(
    todo: Todo, concurrency: int, answering: Answering | None, done: Callable[[Outcome], None]
) -> None:
    # Never opened: it sends nothing and answers with its fallback at once.
    alone = Reranker.from_url()
    for name, ranker, left in todo:
        if ranker == PREFILTER:
            await asking.ask_prefilter(alone, name, left, done)
    await alone.close()
    if answering is None:
        return
    cpu = worker.WorkerCpu(answering.worker.pid)
    async with Reranker.from_url(answering.redis_url, queue=answering.queue, **PATIENT) as reranker:
        for name, ranker, left in todo:
            if ranker != PREFILTER:
                await asking.ask_ranker(
                    reranker,
                    ranker,
                    name,
                    left,
                    concurrency=concurrency,
                    cpu_seconds=cpu.seconds,
                    done=done,
                )


def reported(
    run: RunFile,
    asked: Asked,
    rankers: Sequence[str],
    arguments: Mapping[str, Any],
    price_file: PriceFile | None = None,
) -> dict[str, Any]:
    """What `memsift eval --json` prints.

    Args:
        run: complete.
        asked: the questions of each set.
        rankers: in the order of the report.
        arguments: of the command, `seed` among them.
        price_file: tells the cost; None takes what the rankers told.
    """
    about = run.about or {}
    sets = summarise(asked, rankers, run.outcomes, seed=arguments["seed"])
    for found in sets.values():
        for ranker, numbers in found.items():
            numbers["leaves_network"] = about["leaves_network"][ranker]
            numbers["needs"] = deployment.needs(ranker)
    prices.fill(sets, run.outcomes, price_file)
    return {
        "sets": sets,
        "machine": _machine(),
        "versions": versions(),
        "arguments": dict(arguments),
        "prices": price_file.as_json() if price_file else None,
        **{name: about[name] for name in ("worker", "temporary_worker")},
    }


def _machine() -> dict[str, Any]:
    return {
        "processor": platform.processor() or platform.machine(),
        "system": platform.system(),
        "cpus": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
    }
