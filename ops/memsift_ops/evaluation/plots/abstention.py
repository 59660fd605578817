"""Whether a ranker knows when no memory answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsift_ops.evaluation.markup import Markup
from memsift_ops.evaluation.plots.bars import ROW, Bars
from memsift_ops.evaluation.plots.canvas import label, line, names_width, svg

TOP, BELOW = 4, 18
CHANCE = 0.5


def abstention(name: str, rankers: Mapping[str, Mapping[str, Any]]) -> Markup | None:
    """Bars of the AUROC with 95% intervals, and the line of chance; None when it was not measured."""
    found = [
        (at, ranker, measured)
        for at, (ranker, one) in enumerate(rankers.items())
        if (measured := one.get("abstention")) and measured["auroc"] is not None
    ]
    if not found:
        return None
    bars = Bars(names_width(ranker for _, ranker, _ in found))
    bottom = TOP + len(found) * ROW
    drawn: list[Markup] = []
    for row, (at, ranker, measured) in enumerate(found):
        drawn += bars.drawn(TOP + row * ROW, at, ranker, measured["auroc"], tuple(measured["ci95"]))
    drawn.append(line(bars.x(CHANCE), 0, bars.x(CHANCE), bottom, "zero"))
    drawn.append(label(bars.x(CHANCE), bottom + 12, "chance", "note", "middle"))
    told = (
        f"{ranker}: AUROC {measured['auroc']:.2f}, 95% interval {measured['ci95'][0]:.2f} to "
        f"{measured['ci95'][1]:.2f}, {measured['n_answerable']} answerable and "
        f"{measured['n_unanswerable']} unanswerable questions"
        for _, ranker, measured in found
    )
    return svg(bottom + BELOW, f"{name}: AUROC of knowing when nothing answers", told, *drawn)
