"""Quality against latency."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from memsift_ops.evaluation.markup import Markup
from memsift_ops.evaluation.plots.canvas import (
    WIDTH,
    apart,
    dot,
    label,
    line,
    names_width,
    shortened,
    svg,
)
from memsift_ops.evaluation.plots.time_axis import BELOW, TimeAxis

TOP, LEFT, PLOT = 20, 30, 190
BOTTOM = TOP + PLOT
LEADER = 18
METRIC = "mrr"


def tradeoff(name: str, rankers: Mapping[str, Mapping[str, Any]]) -> Markup | None:
    """MRR over the median latency, with the budget as a band; None when nobody answered.

    The upright line is the 95% interval of the MRR, the level one goes to the 95th percentile of the latency.
    """
    points = [
        (at, ranker, one) for at, (ranker, one) in enumerate(rankers.items()) if one[METRIC] is not None
    ]
    if not points:
        return None
    names = names_width(ranker for _, ranker, _ in points)
    right = WIDTH - names - LEADER
    x = TimeAxis(
        [one["latency_ms"][key] for _, _, one in points for key in ("p50", "p95")], LEFT, right, TOP, BOTTOM
    )
    floor: float = math.floor(min([0.8, *(one["ci95"][METRIC][0] for _, _, one in points)]) * 10) / 10

    def y(value: float) -> float:
        return TOP + (1 - value) / (1 - floor) * float(PLOT)

    drawn = x.drawn()
    # Every second line where there are many, as labels need their room.
    for step in range(10, round(floor * 10) - 1, -1 if floor >= 0.3 else -2):  # noqa: PLR2004
        drawn += [
            line(LEFT, y(step / 10), right, y(step / 10), "grid"),
            label(LEFT - 6, y(step / 10) + 4, f"{step / 10:.1f}", "tick", "end"),
        ]
    at_y = apart([y(one[METRIC]) for _, _, one in points], BOTTOM)
    for (at, ranker, one), label_y in zip(points, at_y, strict=True):
        p50, p95, value = one["latency_ms"]["p50"], one["latency_ms"]["p95"], one[METRIC]
        low, high = one["ci95"][METRIC]
        text = shortened(ranker, names)
        drawn += [
            line(x(p50), y(low), x(p50), y(high), f"whisker c{at}"),
            line(x(p50), y(value), x(p95), y(value), f"whisker c{at}"),
            line(x(p95), y(value), right + LEADER - 4, label_y, f"leader c{at}"),
            dot(x(p50), y(value), f"c{at}"),
            label(right + LEADER, label_y + 4, text, f"name c{at}"),
        ]
    told = (
        f"{ranker}: MRR {one[METRIC]:.3f}, 95% interval {one['ci95'][METRIC][0]:.3f} to "
        f"{one['ci95'][METRIC][1]:.3f}, median {one['latency_ms']['p50']:.1f} ms, 95th percentile "
        f"{one['latency_ms']['p95']:.1f} ms"
        for _, ranker, one in points
    )
    return svg(BOTTOM + BELOW, f"{name}: MRR against latency", told, *drawn)
