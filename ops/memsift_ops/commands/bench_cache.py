"""`memsift bench cache`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.progress import Progress
from rich.table import Table

from memsift_ops.benchmarks import record
from memsift_ops.cache_bench import options
from memsift_ops.cache_bench import sessions as conversations
from memsift_ops.cache_bench.layouts import NAMES
from memsift_ops.cache_bench.running import run
from memsift_ops.cache_bench.sessions import Session
from memsift_ops.cache_bench.summary import summarise
from memsift_ops.console import print_json, stderr, stdout, waiting
from memsift_ops.stack import Stack
from memsift_schemas import settings as settings_module
from memsift_schemas.job import MAX_CANDIDATES
from memsift_schemas.settings import WorkerSettings
from memsift_schemas.settings.producer import KEPT

MEANING = {
    "naive": "question first, then the memories as the prefilter ranked them",
    "kind": "this turn's memories by kind, question last",
    "deck": "the session's deck, question last",
    "likelihood": "a prompt for each memory",
}


@click.command("cache")
@options.data
@click.option(
    "--turns", default=12, show_default=True, type=click.IntRange(2, 1000), help="Questions of a session."
)
@click.option(
    "--sessions", default=3, show_default=True, type=click.IntRange(1, 1000), help="Sessions of each set."
)
@click.option(
    "--keep",
    default=MAX_CANDIDATES,
    show_default="all",
    type=click.IntRange(1, MAX_CANDIDATES),
    help=f"Candidates that the model reads: all, a single stage; {KEPT} is what the prefilter leaves else.",
)
@click.option("--seed", default=1, show_default=True, help="Of the choice of sessions.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the same as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    *,
    data: Path | None,
    sets: tuple[str, ...],
    turns: int,
    sessions: int,
    keep: int,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> int:
    """Replay sessions on the real engine in four layouts of the prompt, and count what the cache serves.

    The engine is that of the worker's settings (MEMSIFT_RUNTIME, MEMSIFT_MODEL, MEMSIFT_SGLANG_URL), and
    MEMSIFT_DECK_* decide on the deck. Nobody else may use the server meanwhile.
    """
    chosen = _sessions(data, sets, turns=turns, most=sessions, seed=seed)
    with Stack("memsift.bench.cache") as stack, Progress(console=stderr(), transient=True) as progress:
        with waiting("starting Valkey"):
            url = stack.start_valkey()
        settings = settings_module.load(WorkerSettings, redis_url=url)
        task = progress.add_task("sessions", total=len(chosen) * len(NAMES))
        step: Callable[[], None] = lambda: progress.advance(task)  # noqa: E731
        played, server = asyncio.run(run(chosen, settings, keep=keep, progress=step))
    asked = {"keep": keep, "turns": turns, "seed": seed, "runtime": settings.runtime}
    report = {
        **record.begun("cache", asked),
        **summarise(played),
        "server": server,
        "sessions": [{"name": one.name, "turns": len(one.cases)} for one in chosen],
    }
    if out is not None:
        record.write(out, report)
    if as_json:
        print_json(report)
    else:
        _show(report)
    return 0


def _sessions(data: Path | None, sets: tuple[str, ...], *, turns: int, most: int, seed: int) -> list[Session]:
    names = options.chosen(data, sets)
    if data is None:
        return conversations.own()
    return [
        session
        for name in names
        for session in conversations.of_set(data, name, turns=turns, most=most, seed=seed)
    ]


def _show(report: dict[str, Any]) -> None:
    table = Table(title="From the second turn of a session on", title_justify="left")
    columns = ("layout", "cached", "prefilled", "p50 ms", "CPU ms", "less time", "hit@3", "MRR")
    for at, column in enumerate(columns):
        table.add_column(column, justify="right" if at else "left", no_wrap=True)
    for name, found in report["layouts"].items():
        ratio = report["naive_over"].get(name)
        table.add_row(
            name,
            f"{found['cached_share']:.1%}",
            f"{found['prefill_tokens_per_turn']:.0f}",
            f"{found['p50_ms_from_turn_2']:.0f}",
            f"{found['cpu_ms_per_turn']:.0f}",
            "" if ratio is None else f"{ratio['wall']:.1f}x ({ratio['least']:.1f}-{ratio['most']:.1f})",
            f"{found['hit_at_3']:.3f}",
            f"{found['mrr']:.3f}",
        )
    stdout().print(table)
    for name, meaning in MEANING.items():
        click.echo(f"{name:<11}{meaning}")
    deck = report["deck"]
    click.echo(
        f"\ndeck: {deck['memories']:.0f} memories, {deck['tokens']:.0f} tokens, {deck['stale_share']:.0%} of "
        f"them of memories that were no candidates; misses: {deck['misses'] or 'none'}"
    )
    if report["server"]:
        click.echo(f"the server's own counters differ from ours by {report['server']['off_by']:.2%}")
