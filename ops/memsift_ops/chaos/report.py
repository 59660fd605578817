"""A chaos run as JSON and as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from memsift_ops.benchmarks import record
from memsift_ops.chaos.checks import Check, quantile
from memsift_ops.chaos.stage import Result


def as_json(results: Sequence[Result], found: Mapping[str, int], *, seed: int, quick: bool) -> dict[str, Any]:
    """Everything that a run measured.

    Args:
        results: of the scenarios that were played.
        found: planted secrets by file.
        seed: of all random choices.
        quick: whether it was the short form.
    """
    tallies = [result.tally for result in results]
    fallbacks: Counter[str] = Counter()
    for tally in tallies:
        fallbacks.update(tally.fallbacks)
    busy = sum(result.spent.busy_s for result in results)
    own = [value for tally in tallies for value in tally.own_ms]
    return {
        "calls": sum(tally.expected for tally in tallies),
        "unanswered": sum(tally.unanswered for tally in tallies),
        "invalid": sum(tally.invalid for tally in tallies),
        "foreign_replies": sum(tally.foreign for tally in tallies),
        "leaks": sum(found.values()),
        "p999_over_deadline_ms": quantile(own, 0.999),
        "dead_model_time_share": sum(result.spent.dead_s for result in results) / busy if busy else 0.0,
        "fallbacks": dict(fallbacks.most_common()),
        "answered_by_model": sum(tally.by_model for tally in tallies),
        "left": sum(tally.left for tally in tallies),
        "broken": broken(results, found),
        "leaks_by_file": dict(found),
        "scenarios": {result.name: _scenario(result) for result in results},
        "seed": seed,
        "quick": quick,
        # For `memsift bench report`, which shows the overload.
        **record.begun("overload", {"seed": seed, "quick": quick}),
    }


def leak_check(found: Mapping[str, int]) -> Check:
    """The promise about planted secrets."""
    return Check("planted secrets in logs, Sentry, events and Flower", sum(found.values()), 0)


def broken(results: Sequence[Result], found: Mapping[str, int]) -> list[str]:
    """Each promise that was not kept, in words."""
    checks = [(result.name, check) for result in results for check in result.checks]
    checks.append(("all", leak_check(found)))
    return [f"{name}: {_said(check)}" for name, check in checks if not check.kept]


def show(console: Console, results: Sequence[Result], found: Mapping[str, int]) -> None:
    """Print what each scenario found, and each promise."""
    calls = Table(box=None, pad_edge=False)
    for name in ("scenario", "calls", "model", "fell back", "unanswered", "invalid", "foreign", "p99.9 ms"):
        calls.add_column(name, justify="left" if name == "scenario" else "right")
    for result in results:
        tally = result.tally
        over = quantile(tally.own_ms, 0.999)
        numbers = (tally.expected, tally.by_model, tally.fallbacks.total())
        wrong = (tally.unanswered, tally.invalid, tally.foreign)
        calls.add_row(result.name, *map(str, (*numbers, *wrong)), "-" if over is None else f"{over:.1f}")
    console.print(calls)
    console.print()
    for name, check in [(r.name, c) for r in results for c in r.checks] + [("all", leak_check(found))]:
        mark = "kept  " if check.kept else "BROKEN"
        console.print(f"{mark} {name}: {_said(check)}", style=None if check.kept else "bold red")


def _said(check: Check) -> str:
    bound = "at least" if check.at_least else "at most"
    measured = "nothing was seen of it" if check.measured is None else f"{check.measured:.4g}"
    return f"{check.promise}: {measured} ({bound} {check.limit:.4g})"


def _scenario(result: Result) -> dict[str, Any]:
    tally = result.tally
    return {
        "calls": tally.expected,
        "answered": tally.answered,
        "answered_by_model": tally.by_model,
        "left": tally.left,
        "fallbacks": dict(tally.fallbacks.most_common()),
        "failures": dict(tally.failures),
        "invalid": tally.invalid,
        "foreign_replies": tally.foreign,
        "checks": [check.as_dict() for check in result.checks],
        **result.detail,
    }
