"""What each ranker gains over the prefilter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsift_ops.evaluation.glance import MARKS, verdict
from memsift_ops.evaluation.markup import Markup
from memsift_ops.evaluation.plots.canvas import WIDTH, dot, label, line, names_width, shortened, svg

TOP, ROW, BELOW, VALUES = 8, 24, 24, 68
METRIC = "mrr"


def gains(name: str, rankers: Mapping[str, Mapping[str, Any]]) -> Markup | None:
    """MRR gained over the prefilter with its paired 95% interval; None when there is nothing to compare."""
    found = [
        (at, ranker, one, one["against_prefilter"][METRIC])
        for at, (ranker, one) in enumerate(rankers.items())
        if one["against_prefilter"] is not None
    ]
    if not found:
        return None
    names = names_width(ranker for _, ranker, _, _ in found)
    left, right = names + 14, WIDTH - VALUES
    reach: float = max(0.02, *(abs(end) for *_, gain in found for end in gain["ci95"]))

    def x(value: float) -> float:
        return (left + right) / 2 + value / reach * (right - left) / 2

    bottom = TOP + len(found) * ROW
    drawn = [line(x(0), TOP, x(0), bottom, "zero")]
    drawn += [
        label(x(value), bottom + 16, f"{value:+.2f}" if value else "0", "tick", "middle")
        for value in (-reach, 0.0, reach)
    ]
    told = []
    for row, (at, ranker, one, gain) in enumerate(found):
        y = TOP + (row + 0.5) * ROW
        low, high = gain["ci95"]
        drawn += [
            label(names, y + 4, shortened(ranker, names), f"name c{at}", "end"),
            line(x(low), y, x(high), y, f"whisker c{at}"),
            dot(x(gain["difference"]), y, f"c{at}"),
            label(WIDTH - 58, y + 4, f"{gain['difference']:+.3f}{MARKS[verdict(one)]}", "value"),
        ]
        told.append(f"{ranker}: {gain['difference']:+.3f}, 95% interval {low:+.3f} to {high:+.3f}")
    return svg(bottom + BELOW, f"{name}: MRR gained over the prefilter", told, *drawn)
