"""How long calls take: the whole distribution, not only its percentiles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from memsift_ops.evaluation.glance import milliseconds
from memsift_ops.evaluation.markup import Markup, tag
from memsift_ops.evaluation.plots.canvas import WIDTH, dot, label, line, shortened, svg
from memsift_ops.evaluation.plots.time_axis import BELOW, TimeAxis

TOP, ROW, MIDDLE, HALF = 20, 44, 29, 10
LEFT, RIGHT = 10, WIDTH - 14
POINTS = 60
# Width of a glyph of the numbers, which are narrower than names.
DIGIT = 7.0
# Decades: below it a kernel would draw noise of the clock.
NARROWEST = 0.02


def latency(
    name: str, rankers: Mapping[str, Mapping[str, Any]], times: Mapping[str, Sequence[float]]
) -> Markup | None:
    """One row for each ranker on a common logarithmic axis; None when nobody answered.

    The shape is the density of the calls, the thin line goes from the fastest to the slowest; the dot is the
    median, the upright line the 95th percentile, the diamond the 99th.

    Args:
        name: the set's name.
        rankers: its numbers.
        times: milliseconds of every answered call, for each ranker.
    """
    rows = [
        (at, ranker, one["latency_ms"]) for at, (ranker, one) in enumerate(rankers.items()) if times[ranker]
    ]
    if not rows:
        return None
    bottom = TOP + ROW * len(rows)
    x = TimeAxis([ms for _, ranker, _ in rows for ms in times[ranker]], LEFT, RIGHT, TOP, bottom)
    drawn = x.drawn()
    for row, (at, ranker, found) in enumerate(rows):
        numbers = " · ".join(f"{key} {milliseconds(found[key])}" for key in ("p50", "p95", "p99")) + " ms"
        room = RIGHT - LEFT - len(numbers) * DIGIT
        top, y = TOP + row * ROW + 14, TOP + row * ROW + MIDDLE
        drawn += [
            label(LEFT, top, shortened(ranker, room), f"name c{at}"),
            label(RIGHT, top, numbers, "value", "end"),
            line(x(min(times[ranker])), y, x(max(times[ranker])), y, f"leader c{at}"),
            tag("path", d=_shape(times[ranker], x, y), class_=f"density c{at}"),
            line(x(found["p95"]), y - HALF, x(found["p95"]), y + HALF, f"whisker c{at}"),
            tag("path", d=_diamond(x(found["p99"]), y), class_=f"dot c{at}"),
            dot(x(found["p50"]), y, f"c{at}"),
        ]
    told = (
        f"{ranker}: {len(times[ranker])} calls, "
        + ", ".join(f"{key} {found[key]:.1f} ms" for key in ("p50", "p95", "p99"))
        for _, ranker, found in rows
    )
    return svg(bottom + BELOW, f"{name}: latency of the whole call", told, *drawn)


def _shape(times: Sequence[float], x: TimeAxis, y: float) -> str:
    """A violin: the density of log10 of the times, by Gaussian kernels of Silverman's width (1986)."""
    logs = np.log10(np.maximum(times, 1e-3))
    q75, q25 = np.percentile(logs, [75, 25])
    spread = min(float(logs.std()), float(q75 - q25) / 1.34) or float(logs.std())
    width = max(0.9 * spread * len(logs) ** -0.2, NARROWEST)
    at = np.linspace(logs.min() - width, logs.max() + width, POINTS)
    density = np.exp(-0.5 * ((at[:, None] - logs[None, :]) / width) ** 2).sum(axis=1)
    heights = (density / density.max() * HALF).tolist()
    across = [x(10**one) for one in at.tolist()]
    upper = [f"{a:.1f} {y - height:.1f}" for a, height in zip(across, heights, strict=True)]
    lower = [f"{a:.1f} {y + height:.1f}" for a, height in zip(across, heights, strict=True)]
    return "M" + "L".join([*upper, *reversed(lower)]) + "Z"


def _diamond(x: float, y: float) -> str:
    size = 4.5 * math.sqrt(math.pi / 2)  # of the same area as a dot
    return f"M{x:.1f} {y - size:.1f}L{x + size:.1f} {y:.1f}L{x:.1f} {y + size:.1f}L{x - size:.1f} {y:.1f}Z"
