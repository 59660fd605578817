"""A logarithmic axis of milliseconds, with the budget of a chat drawn in."""

from __future__ import annotations

import math
from collections.abc import Sequence

from memsift_ops.evaluation.markup import Markup, tag
from memsift_ops.evaluation.plots.canvas import label, line

# What a chat waits for the whole step, milliseconds.
BUDGET_MS = (300.0, 500.0)
TICKS_MS = {0.1: "0.1", 1.0: "1", 10.0: "10", 100.0: "100", 1e3: "1 s", 1e4: "10 s", 1e5: "100 s"}
BELOW = 34


class TimeAxis:
    """Whole decades from the shortest time to the longest, at least up to a second.

    Args:
        times: milliseconds that must fit in.
        left: where it begins.
        right: where it ends.
        top: upper end of the picture.
        bottom: lower end of the picture; ticks and the unit take `BELOW` units under it.
    """

    def __init__(self, times: Sequence[float], left: float, right: float, top: float, bottom: float) -> None:
        self._low = math.floor(math.log10(max(min([1.0, *times]), min(TICKS_MS))))
        self._high = math.ceil(math.log10(max([1000.0, *times])))
        self._left, self._right, self._top, self._bottom = left, right, top, bottom

    def __call__(self, ms: float) -> float:
        """Where a time is."""
        part = (math.log10(max(ms, 10.0**self._low)) - self._low) / (self._high - self._low)
        return self._left + part * (self._right - self._left)

    def drawn(self) -> list[Markup]:
        """The axis, to be drawn below everything else."""
        start, end = map(self, BUDGET_MS)
        size = {"width": end - start, "height": float(self._bottom - self._top)}
        parts = [tag("rect", x=start, y=float(self._top), class_="budget", **size)]
        for ms, told in TICKS_MS.items():
            if self._low <= round(math.log10(ms)) <= self._high:
                parts += [
                    line(self(ms), self._top, self(ms), self._bottom, "grid"),
                    label(self(ms), self._bottom + 14, told, "tick", "middle"),
                ]
        middle = (self._left + self._right) / 2
        unit = label(middle, self._bottom + 29, "milliseconds, whole call (log)", "note", "middle")
        return [*parts, label((start + end) / 2, self._top - 4, "300–500 ms", "note", "middle"), unit]
