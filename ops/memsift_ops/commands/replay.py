"""`memsift replay`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from memsift_ops import console
from memsift_ops.decisions import reading, replaying
from memsift_ops.decisions.reading import Read
from memsift_ops.evaluation import options
from memsift_ops.evaluation.outcome import PREFILTER
from memsift_schemas.decision import Decision, DecisionText
from memsift_schemas.errors import InvalidInput

_MEASURES = {
    "first": "same memory first",
    "first_in_picks": "the first then is picked now",
    "same_picks": "same memories picked",
    "top3": "common to the first three",
    "tau": "Kendall's tau",
    "rbo": "rank-biased overlap",
}


def _one_ranker(context: click.Context, option: click.Parameter, value: str) -> str:
    asked = [name for name in options.rankers(context, option, value) if name != PREFILTER] or [PREFILTER]
    if len(asked) > 1:
        raise click.BadParameter("one ranker, or one chain, at a time")
    return asked[0]


@click.command("replay")
@click.argument("log", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--ranker", required=True, callback=_one_ranker, help="Who ranks now: a ranker, a chain, or prefilter."
)
@click.option("--job", default="", help="Only jobs whose id begins so.")
@click.option("--limit", type=click.IntRange(1), help="Only the newest so many.  [default: all]")
@click.option(
    "--show", default=10, show_default=True, type=click.IntRange(0), help="Differences that are printed."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(log: Path, *, ranker: str, job: str, limit: int | None, show: int, as_json: bool) -> int:
    """Rank the calls of a decision LOG again, and show what differs.

    It can be done for calls whose text was kept (MEMSIFT_DECISION_LOG_TEXT_KEYS, whose keys must be set here
    too). Settings come from MEMSIFT_* variables; a worker that is ready at MEMSIFT_REDIS_URL has its own.
    Agreement is told over all calls, the hit rate over those with feedback. Nothing of a replay is logged or
    counted. Exit code 1: some calls were not answered by the ranker.
    """
    found = reading.read([log], job=job)
    asked = _with_text(found, limit)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console.stderr(), transient=True) as progress:
        bar = progress.add_task(f"ranking again by {ranker}", total=len(asked))
        cases = [replaying.as_case(decision, text) for decision, text in asked]
        outcomes = replaying.rank(ranker, cases, lambda: progress.advance(bar))
    fell_back = Counter(str(outcome.cause) for outcome in outcomes if outcome.cause is not None)
    again = [
        replaying.compare(found.decisions[outcome.query], found.told.get(outcome.query), outcome)
        for outcome in outcomes
        if outcome.cause is None
    ]
    told = replaying.report(ranker, again, fell_back)
    if as_json:
        console.print_json(told)
    else:
        _print(told, show)
    return 1 if fell_back else 0


def _with_text(found: Read, limit: int | None) -> list[tuple[Decision, DecisionText]]:
    """The newest calls that can be ranked again, oldest first."""
    calls = [one for one in found.decisions.values() if one.memories]
    if not calls:
        raise InvalidInput("the log holds no such call")
    kept = [one for one in calls if one.text is not None]
    if not kept:
        raise InvalidInput(f"none of {len(calls)} calls can be ranked again: {reading.NO_TEXT}")
    if len(kept) < len(calls):
        click.echo(f"{len(calls) - len(kept)} of {len(calls)} calls have no text and are left out", err=True)
    ring = reading.key_ring()
    return [(one, reading.text(one, ring)) for one in kept[-(limit or len(kept)) :]]


def _print(told: dict[str, Any], show: int) -> None:
    jobs = told["jobs"]
    table = Table(box=box.ROUNDED, header_style="dim")
    table.add_column(f"{told['ranker']} beside what was answered")
    table.add_column(f"mean of {jobs:,} jobs", justify="right")
    for name, words in _MEASURES.items():
        table.add_row(words, f"{told['agreement'][name]:.2f}")
    console.stdout().print(table)
    times = told["median_ms"]
    click.echo(f"median of the whole call: then {times['then']:.0f} ms, now {times['now']:.0f} ms")
    hits = told["hit_rate"]
    if hits["jobs"]:
        then, now = hits["then"], hits["now"]
        click.echo(
            f"of {hits['jobs']} jobs with feedback: a right memory picked then {then['any']:.0%}, now "
            f"{now['any']:.0%}; all of them then {then['all']:.0%}, now {now['all']:.0%}"
        )
    differences = told["differences"]
    click.echo(f"{len(differences):,} of {jobs:,} pick other memories")
    for one in differences[:show]:
        came, went = (", ".join(one[name]) or "none" for name in ("came_in", "went_out"))
        click.echo(f"  {one['job']}: in {came}; out {went}")
    if len(differences) > show:
        click.echo(f"  and {len(differences) - show:,} more (--show)")
    for cause, count in told["fell_back"].items():
        click.echo(f"not answered by {told['ranker']}: {count} ({cause})")
