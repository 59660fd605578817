"""A curve for each system over a logarithmic axis, and another for its values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from memsift_ops.evaluation.markup import Markup, tag
from memsift_ops.evaluation.plots.canvas import WIDTH, apart, dot, label, line, shortened, svg
from memsift_ops.planning.pictures import Axis

LEFT, RIGHT, TOP, BOTTOM = 66, WIDTH - 96, 14, 170
# Of two numbers under the axis that are nearer than this, the right one stays.
APART = 30
Points = Sequence[tuple[float, float]]


def curves(shown: Mapping[str, Points], title: str, *, over: str, unit: str) -> Markup | None:
    """One picture; None when there is nothing to show.

    Args:
        shown: name -> (x, y), both above 0, x ascending.
        title: what it is.
        over: what x is.
        unit: of y.
    """
    filled = {name: points for name, points in shown.items() if points}
    if not filled:
        return None
    xs = [x for points in filled.values() for x, _ in points]
    ys = [y for points in filled.values() for _, y in points]
    x_axis = Axis(min(xs), max(xs), LEFT, RIGHT, log=True)
    low, high = 10 ** math.floor(math.log10(min(ys))), 10 ** math.ceil(math.log10(max(ys) * 1.01))
    y_axis = Axis(low, high, BOTTOM, TOP, log=True)
    drawn = [*_grid(x_axis, y_axis, sorted(set(xs)), over=over, unit=unit)]
    ends = apart([y_axis(points[-1][1]) + 4 for points in filled.values()], float(BOTTOM + 4))
    for (name, points), end in zip(filled.items(), ends, strict=True):
        at = list(shown).index(name)
        path = "M" + "L".join(f"{x_axis(x):.1f} {y_axis(y):.1f}" for x, y in points)
        last_x, last_y = x_axis(points[-1][0]), y_axis(points[-1][1])
        drawn += [
            tag("path", d=path, class_=f"curve c{at}"),
            *(dot(x_axis(x), y_axis(y), f"c{at}") for x, y in points),
            line(last_x, last_y, RIGHT + 10, end - 4, f"leader c{at}"),
            label(RIGHT + 13, end, shortened(name, WIDTH - RIGHT - 13), "name"),
        ]
    told = (
        f"{name}: " + ", ".join(f"{x:g} {over} {y:.3g} {unit}" for x, y in points)
        for name, points in filled.items()
    )
    return svg(BOTTOM + 34, title, told, *drawn)


def _grid(x: Axis, y: Axis, columns: Sequence[float], *, over: str, unit: str) -> Iterator[Markup]:
    for power in range(round(math.log10(y.low)), round(math.log10(y.high)) + 1):
        value = 10.0**power
        yield line(LEFT, y(value), RIGHT, y(value), "grid")
        told = f"{value:g}" + (f" {unit}" if value == y.high else "")
        yield label(LEFT - 4, y(value) + 4, told, "tick", "end")
    free = math.inf
    for column in reversed(columns):
        if free - x(column) >= APART:
            free = x(column)
            yield label(free, BOTTOM + 15, f"{column:,g}", "tick", "middle")
    yield label((LEFT + RIGHT) / 2, BOTTOM + 30, f"{over} (log)", "note", "middle")
