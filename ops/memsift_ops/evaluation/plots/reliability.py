"""How far stated probabilities of relevance can be believed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from memsift_ops.evaluation.markup import Markup, tag
from memsift_ops.evaluation.plots.canvas import (
    LABEL_GAP,
    WIDTH,
    apart,
    label,
    line,
    names_width,
    shortened,
    svg,
)

TOP, LEFT, PLOT, BELOW, LEADER = 12, 34, 190, 34, 18
BOTTOM = TOP + PLOT
STEPS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
LARGEST, SMALLEST = 6.0, 3.0


def reliability(name: str, rankers: Mapping[str, Mapping[str, Any]]) -> Markup | None:
    """Share of relevant memories over their stated probability; None without a calibration.

    A dot is a bin of a tenth, its area grows with the memories in it; on the dashed line the probabilities
    are right (DeGroot and Fienberg 1983).
    """
    found = [
        (at, ranker, one["calibration"])
        for at, (ranker, one) in enumerate(rankers.items())
        if one["calibration"] is not None
    ]
    if not found:
        return None
    names = names_width(ranker for _, ranker, _ in found)
    right = WIDTH - names - LEADER - 8

    def x(value: float) -> float:
        return LEFT + value * (right - LEFT)

    def y(value: float) -> float:
        return TOP + (1 - value) * float(PLOT)

    drawn = [line(LEFT, y(step), right, y(step), "grid") for step in STEPS]
    drawn += [label(LEFT - 6, y(step) + 4, f"{step:.1f}", "tick", "end") for step in STEPS]
    drawn += [label(x(step), BOTTOM + 14, f"{step:.1f}", "tick", "middle") for step in STEPS]
    drawn.append(line(x(0), y(0), x(1), y(1), "zero"))
    drawn.append(label(x(0.5), BOTTOM + 29, "stated probability", "note", "middle"))
    ends = apart([y(one["bins"][-1]["relevant"]) for _, _, one in found], BOTTOM)
    for (at, ranker, one), end in zip(found, ends, strict=True):
        bins = one["bins"]
        points = [(x(part["stated"]), y(part["relevant"])) for part in bins]
        most = max(part["n"] for part in bins)
        drawn.append(
            tag("path", d="M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in points), class_=f"curve c{at}")
        )
        for (a, b), part in zip(points, bins, strict=True):
            size = max(LARGEST * math.sqrt(part["n"] / most), SMALLEST)
            drawn.append(tag("circle", cx=a, cy=b, r=size, class_=f"dot c{at}"))
        drawn += [
            line(*points[-1], right + LEADER + 4, end, f"leader c{at}"),
            label(right + LEADER + 8, end + 4, shortened(ranker, names), f"name c{at}"),
        ]
    drawn += [
        label(right, BOTTOM - 8 - LABEL_GAP * row, f"{ranker} ECE {one['ece']:.3f}", "note", "end")
        for row, (_, ranker, one) in enumerate(reversed(found))
    ]
    told = (
        f"{ranker}: expected calibration error {one['ece']:.3f}, Brier score {one['brier']:.3f}, "
        f"{one['n']} memories"
        for _, ranker, one in found
    )
    return svg(BOTTOM + BELOW, f"{name}: relevant share over stated probability", told, *drawn)
