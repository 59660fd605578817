"""Runs the simulations that a plan needs, with progress on stderr."""

from __future__ import annotations

import math
from collections.abc import Callable

from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from memsift_ops.console import stderr
from memsift_ops.planning import capacity
from memsift_ops.planning.capacity import Tried
from memsift_ops.planning.request import Request, variants
from memsift_ops.planning.simulate import WARM_UP_THINK_TIMES, Outcome

# Pictures show from a third to three times the number of cards, in so many steps.
SWEEP, SPAN = 7, 3.0


def find(
    asked: Request, *, cards: int | None, target_ms: float, compare: bool, sweep: bool
) -> dict[str, Tried]:
    """Simulate the request and, to compare, its variants.

    Args:
        asked: the request.
        cards: how many there are; None searches for as many as are needed.
        target_ms: for the 99th percentile.
        compare: also the variants.
        sweep: also other numbers of cards, for pictures.
    """
    rows = variants(asked) if compare else {"as asked": asked}
    found = {name: Tried(request) for name, request in rows.items()}
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    shown = stderr()
    # rich ends even a transient bar with an empty line where nobody watches.
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as progress:
        bars = progress.add_task("rows", total=len(found)), progress.add_task("")
        for name, tried in found.items():
            run = _runner(progress, bars, name, tried)
            if cards is None:
                capacity.search(tried, target_ms, run)
            else:
                run(cards)
            if sweep:
                for more in _around(cards or tried.needed or max(tried.outcomes, default=None)):
                    run(more)
            progress.advance(bars[0])
    return found


def _runner(
    progress: Progress, bars: tuple[TaskID, TaskID], name: str, tried: Tried
) -> Callable[[int], Outcome]:
    """Simulates one row with so many cards, and shows it: the first bar is for rows, the second for calls."""
    request = tried.request
    expected = request.jobs + WARM_UP_THINK_TIMES * request.think_s * request.traffic.calls_per_s
    rows, calls = bars

    def run(cards: int) -> Outcome:
        progress.update(rows, description=f"{escape(name)}, {cards:,} cards")
        progress.reset(calls, total=expected, description=f"{expected:,.0f} calls")
        return tried.with_cards(cards, lambda more: progress.advance(calls, more))

    return run


def _around(cards: int | None) -> list[int]:
    if cards is None:
        return []
    steps = (math.log(SPAN) * (2 * step / (SWEEP - 1) - 1) for step in range(SWEEP))
    return sorted({max(1, round(cards * math.exp(step))) for step in steps})
