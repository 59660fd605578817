"""`memsift eval --fit jev|prefilter`: learns weights, writes the settings file, tells whether it helped."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from memsift_ops import console
from memsift_ops.commands.version import versions
from memsift_ops.datasets import Case
from memsift_ops.errors import Failure
from memsift_ops.evaluation.fitting import jev, prefilter, settings_file, weights
from memsift_ops.evaluation.fitting.folds import FOLDS
from memsift_ops.evaluation.fitting.linear import Table
from memsift_ops.evaluation.fitting.weights import Gain, Learnt
from memsift_schemas.settings import PREFIX

LINEAR = {"jev": jev.jev, "prefilter": prefilter.prefilter}

Asked = Mapping[str, Sequence[Case]]


def run(
    kind: str,
    asked: Asked,
    digests: Mapping[str, str],
    *,
    out: Path,
    seed: int,
    command: Sequence[str],
    now: datetime,
    as_json: bool,
) -> None:
    """Fit weights with a progress bar on stderr, write the settings file, and tell on stdout.

    Args:
        kind: one of `LINEAR`.
        asked: the questions of each set; those that no memory answers teach nothing.
        digests: of each set.
        out: the settings file.
        seed: of the folds and the bootstrap.
        command: the arguments of `memsift`, for the file's head.
        now: when, in UTC, likewise.
        as_json: whether to tell it as JSON.

    Raises:
        Failure: there are too few questions.
        Refused: the file cannot be written.
        SettingsError: a setting is wrong.
    """
    labelled = {name: cases for name, cases in asked.items() if any(one.gold for one in cases)}
    fitted_on = {name: digests[name] for name in labelled}
    learnt = _learn(kind, labelled, seed=seed)
    _write(out, learnt, fitted_on, command=command, now=now)
    if as_json:
        console.print_json(_json(kind, learnt, fitted_on, out))
    else:
        _tell(learnt, out)


def _learn(kind: str, asked: Asked, *, seed: int) -> Learnt:
    linear = LINEAR[kind]()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console.stderr(), transient=True) as progress:
        reading = progress.add_task("evidence", total=sum(map(len, asked.values())))
        fitting = progress.add_task(f"fitting {kind}", total=weights.FITS)
        tables: dict[str, list[Table]] = {name: [] for name in asked}
        for name, one in ((name, one) for name, cases in asked.items() for one in cases):
            if one.gold:
                tables[name].append(linear.table(one))
            progress.advance(reading)
        try:
            return weights.learn(linear, tables, seed=seed, fitted=lambda: progress.advance(fitting))
        except ValueError as error:
            raise Failure(f"{error}: give more sets, or leave --limit out") from None


def _write(
    out: Path, learnt: Learnt, fitted_on: Mapping[str, str], *, command: Sequence[str], now: datetime
) -> None:
    head = [
        f"Fitted by memsift {versions()['memsift'] or '(not installed)'} on {now:%Y-%m-%d %H:%M} UTC:",
        shlex.join(["memsift", *command]),
        f"{learnt.questions} questions of {', '.join(fitted_on)}.",
        verdict(learnt),
    ]
    values = {f"{PREFIX}{name.upper()}": f"{weight:.4g}" for name, weight in learnt.weights.items()}
    settings_file.write(out, head, {**values, settings_file.FITTED_ON: ",".join(fitted_on.values())})


def verdict(learnt: Learnt) -> str:
    """Whether fitting helped, in a sentence for people."""
    one = learnt.overall
    low, high = one.ci95
    numbers = f"MRR {one.default:.3f} -> {one.fitted:.3f} ({one.difference:+.3f}, {low:+.3f} to {high:+.3f})"
    if low > 0:
        return f"Fitting helped: on questions left out of it {numbers}."
    if high < 0:
        return f"Fitting made it worse: on questions left out of it {numbers}. Keep the defaults."
    return f"Fitting did not help beyond noise: on questions left out of it {numbers}. Keep the defaults."


def _json(kind: str, learnt: Learnt, fitted_on: Mapping[str, str], out: Path) -> dict[str, Any]:
    return {
        "fit": kind,
        "out": str(out),
        "fitted_on": dict(fitted_on),
        "n": learnt.questions,
        "n_without_relevant_candidate": learnt.left_out,
        "pull": learnt.pull,
        "weights": learnt.weights,
        "out_of_fold_mrr": {
            **learnt.overall.as_json(),
            "by_set": {name: one.as_json() for name, one in learnt.sets.items()},
        },
        "helped": learnt.helped,
    }


def _tell(learnt: Learnt, out: Path) -> None:
    click.echo(f"MRR by {FOLDS}-fold cross-validation: no question is ranked with weights fitted on it")
    overall = {"each set counting the same": learnt.overall} if len(learnt.sets) > 1 else {}
    for name, one in {**learnt.sets, **overall}.items():
        click.echo(f"  {name}: {_told(one)}")
    if learnt.left_out:
        click.echo(f"{learnt.left_out} questions have no relevant candidate and teach nothing")
    click.echo(verdict(learnt))
    click.echo(f"wrote {out}, for `memsift eval --settings` and the environment of frontend and worker")


def _told(one: Gain) -> str:
    low, high = one.ci95
    return (
        f"default {one.default:.3f}, fitted {one.fitted:.3f}, "
        f"difference {one.difference:+.3f} ({low:+.3f} to {high:+.3f})"
    )
