"""`memsift bench check`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from memsift_ops.benchmarks import baseline, record
from memsift_ops.benchmarks.baseline import Verdict
from memsift_ops.console import print_json, waiting
from memsift_ops.errors import Failure, Refused
from memsift_ops.peers.round import Plan
from memsift_ops.peers.running import compare, install
from memsift_ops.peers.summary import ratios
from memsift_ops.peers.systems import MEMSIFT, QUEUE_ALONE, systems

# One peer that is light to install, one load and a backlog: two minutes.
BESIDE = "saq"
PLAN = Plan(("200",), 4.0, 1000, batch_ms=15.0, wait_ms=8.0, batch_max=16, batches=4, seed=1)
ROUNDS = 5
# What is worse is measured again: what else the machine did at the moment does not come three times.
TRIES = 3


@click.command("check")
@click.option(
    "--measured",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Judge this result of `memsift bench queue --out` and measure nothing.",
)
@click.option(
    "--baseline",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    default=baseline.FILE,
    help="Another baseline than the committed one.",
)
@click.option("--write", is_flag=True, help="Write the baseline anew instead of judging by it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, measured: Path | None, path: Path, write: bool, as_json: bool) -> int:
    """Measure a few ratios of CPU time and fail when one got worse by more than its noise.

    Ratios to a queue of pinned versions in the same run, so that a slower machine changes nothing. Exit code
    1: a ratio got worse, and was so in three tries.
    """
    measure = _measure if measured is None else functools.partial(_ratios, measured)
    if write:
        path.write_text(baseline.written(measure()), encoding="utf-8")
        return 0
    verdicts = _verdicts(baseline.read(path), measure, tries=TRIES if measured is None else 1)
    if as_json:
        print_json(
            {
                "verdicts": [_told(one) for one in verdicts],
                "worse": [one.name for one in verdicts if one.worse],
            }
        )
    else:
        _show(verdicts)
    return 1 if any(one.worse for one in verdicts) else 0


def _verdicts(
    held: Mapping[str, Mapping[str, float]], measure: Callable[[], dict[str, Any]], *, tries: int
) -> list[Verdict]:
    found: list[dict[str, Any]] = []
    verdicts: list[Verdict] = []
    while len(found) < tries:
        found.append(measure())
        verdicts = baseline.judge(held, found)
        if not any(one.worse for one in verdicts):
            break
    return verdicts


def _measure() -> dict[str, Any]:
    chosen = [systems()[name] for name in (MEMSIFT, QUEUE_ALONE, BESIDE)]
    with waiting("looking for the systems' environments") as said:
        install(chosen, said)
        rounds, failed = compare(chosen, PLAN, rounds=ROUNDS, progress=said)
    if failed:
        raise Failure("; ".join(f"{name}: {why}" for name, why in failed.items()))
    return ratios(rounds)


def _ratios(path: Path) -> dict[str, Any]:
    told = record.read(path)
    if told["bench"] != "queue" or not told.get("ratios"):
        raise Refused(f"{path}: holds no ratios, it must be of `memsift bench queue` with memsift and others")
    return dict(told["ratios"])


def _told(one: Verdict) -> dict[str, Any]:
    return {
        "name": one.name,
        "baseline": one.expected,
        "least": one.least,
        "found": one.found,
        "worse": one.worse,
    }


def _show(verdicts: list[Verdict]) -> None:
    click.echo(f"{'':<56}{'baseline':>9}{'least':>7}{'now':>7}")
    for one in verdicts:
        now = "-" if one.found is None else f"{one.found:.2f}"
        worse = "  worse" if one.worse else ""
        click.echo(f"{one.name:<56}{one.expected:>9.2f}{one.least:>7.2f}{now:>7}{worse}")
