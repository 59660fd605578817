"""The pictures of a plan, drawn with what the evaluation's report is drawn with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memsift_ops.evaluation.markup import Markup, tag
from memsift_ops.evaluation.plots.amounts import amounts
from memsift_ops.evaluation.plots.canvas import WIDTH, apart, dot, label, line, shortened, svg
from memsift_ops.planning.capacity import Tried
from memsift_ops.planning.simulate import Outcome

LEFT, RIGHT, TOP, BOTTOM = 46, WIDTH - 126, 14, 170
# An axis that spans more has room for the powers of ten alone.
CROWDED = 150


@dataclass(frozen=True, slots=True)
class Axis:
    """Values on a straight or a logarithmic scale.

    Attributes:
        low: value at `start`.
        high: value at `end`.
        start: where the axis begins.
        end: where it ends.
        log: whether it is logarithmic.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Where a value is, at the ends at most."""
        value, low, high = (math.log(max(x, 1e-9)) if self.log else x for x in (value, self.low, self.high))
        part = min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.5
        return self.start + part * (self.end - self.start)


def waiting(found: Mapping[str, Tried], target_ms: float) -> Markup | None:
    """The 99th percentile over the number of cards, with the target."""
    return _curves(
        found,
        "p99 by the number of cards",
        lambda outcome: outcome.percentile_ms(99),
        [0, 100, 200, 300, 400, 500],
        unit="ms",
        mark=target_ms,
    )


def caching(found: Mapping[str, Tried]) -> Markup | None:
    """The hit ratio of the caches over the number of cards."""
    return _curves(
        found,
        "prompt tokens from the cache, by the number of cards",
        lambda outcome: outcome.hit_ratio * 100,
        [0, 25, 50, 75, 100],
        unit="%",
    )


def cards(found: Mapping[str, Tried], shown: Mapping[str, int]) -> Markup | None:
    """One bar for each row: how many cards it takes."""
    return amounts({name: shown.get(name) for name in found}, "cards")


def _curves(
    found: Mapping[str, Tried],
    title: str,
    value: Callable[[Outcome], float],
    ticks: Sequence[float],
    *,
    unit: str,
    mark: float | None = None,
) -> Markup | None:
    """A curve for each row over a logarithmic axis of cards, its name at its right end."""
    points = {
        name: [(number, value(tried.outcomes[number])) for number in sorted(tried.outcomes)]
        for name, tried in found.items()
        if tried.outcomes
    }
    if not points:
        return None
    numbers = [number for curve in points.values() for number, _ in curve]
    x = Axis(min(numbers), max(numbers), LEFT, RIGHT, log=True)
    highest = max(*ticks[-1:], *(at for curve in points.values() for _, at in curve))
    y = Axis(0.0, highest, BOTTOM, TOP)
    drawn = [*_grid(x, y, ticks, unit)]
    if mark is not None and mark <= highest:
        drawn += [line(LEFT, y(mark), RIGHT, y(mark), "zero"), label(LEFT + 2, y(mark) - 4, "target", "note")]
    ends = apart([y(curve[-1][1]) + 4 for curve in points.values()], float(BOTTOM + 4))
    for (name, curve), end in zip(points.items(), ends, strict=True):
        at = list(found).index(name)
        last_x, last_y = x(curve[-1][0]), y(curve[-1][1])
        path = "M" + "L".join(f"{x(number):.1f} {y(told):.1f}" for number, told in curve)
        drawn += [
            tag("path", d=path, class_=f"curve c{at}"),
            line(last_x, last_y, RIGHT + 10, end - 4, f"leader c{at}"),
            dot(last_x, last_y, f"c{at}"),
            label(RIGHT + 13, end, shortened(name, WIDTH - RIGHT - 13), "name"),
        ]
    words = (
        f"{name}: " + ", ".join(f"{number} cards {told:.0f} {unit}" for number, told in curve)
        for name, curve in points.items()
    )
    return svg(BOTTOM + 34, title, words, *drawn)


def _grid(x: Axis, y: Axis, ticks: Sequence[float], unit: str) -> list[Markup]:
    drawn = []
    for tick in ticks:
        told = f"{tick:g}" + (f" {unit}" if tick == ticks[-1] else "")
        drawn.append(line(LEFT, y(tick), RIGHT, y(tick), "grid"))
        drawn.append(label(LEFT - 4, y(tick) + 4, told, "tick", "end"))
    numbers = _round_numbers(x.low, x.high)
    drawn += [label(x(tick), BOTTOM + 15, f"{tick:,}", "tick", "middle") for tick in numbers]
    drawn.append(label((LEFT + RIGHT) / 2, BOTTOM + 30, "cards (log)", "note", "middle"))
    return drawn


def _round_numbers(low: float, high: float) -> list[int]:
    """1, 2, 5, 10, ... between two numbers; fewer where they would crowd, the ends where there are none."""
    steps = (1,) if high / low > CROWDED else (1, 2, 5)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    told = [step * 10**decade for decade in decades for step in steps]
    return [tick for tick in told if low <= tick <= high] or sorted({int(low), int(high)})
