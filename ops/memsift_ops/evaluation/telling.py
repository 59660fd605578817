"""What an evaluation prints for people, and whether it measured anything."""

from __future__ import annotations

from collections.abc import Mapping

import click

from memsift_ops import console
from memsift_ops.errors import Failure
from memsift_ops.evaluation import calibrated, glance, names
from memsift_ops.evaluation.glance import Sets


def tell(sets: Sets, prices: Mapping[str, str] | None) -> None:
    """The table, and below it what has no column; `prices` tells the price file, if there was one."""
    console.stdout().print(glance.terminal(sets))
    _tell_needs(sets)
    if prices:
        click.echo(f"prices: {prices['name']}, {prices['date'] or 'without a date'}")
    _tell_fallbacks(sets)
    fitted_on = [name for name, found in sets.items() if any(one["in_sample"] for one in found.values())]
    if fitted_on:
        click.echo(f"in-sample: {', '.join(fitted_on)}: something in use was fitted on these questions")
    for line in calibrated.lines(sets):
        click.echo(line)


def _tell_needs(sets: Sets) -> None:
    found = next(iter(sets.values()))
    needs = {names.asked(ranker): numbers["needs"] for ranker, numbers in found.items()}
    click.echo("to deploy: " + "; ".join(f"{ranker}: {need}" for ranker, need in needs.items()))


def _tell_fallbacks(sets: Sets) -> None:
    for name, found in sets.items():
        for ranker, numbers in found.items():
            if numbers["fell_back"]["n"]:
                causes = ", ".join(f"{cause} {n}" for cause, n in numbers["fell_back"]["causes"].items())
                click.echo(f"{name}, {ranker}: {numbers['fell_back']['n']} fell back ({causes})")


def judge(sets: Sets) -> None:
    """See that every ranker answered.

    Raises:
        Failure: one did not.
    """
    silent = [
        f"{ranker} on {name}"
        for name, found in sets.items()
        for ranker, numbers in found.items()
        if not numbers["n"] and not numbers["abstention"]["n_unanswerable"]
    ]
    if silent:
        raise Failure(f"no answer came from {', '.join(silent)}, so this is no measure of it")
