"""A bar from 0 to 1 with its interval, a name before it and its number behind."""

from __future__ import annotations

from memsift_ops.evaluation.markup import Markup, tag
from memsift_ops.evaluation.plots.canvas import WIDTH, label, line, shortened

ROW, BAR, VALUES = 18, 12, 38


class Bars:
    """Draws bars that begin in the same column.

    Args:
        names: the width of the names before them.
    """

    def __init__(self, names: float) -> None:
        self._names = names
        self._left = names + 8
        self._span = WIDTH - VALUES - self._left

    def x(self, value: float) -> float:
        """Where a value between 0 and 1 is."""
        return self._left + value * self._span

    def drawn(self, y: float, at: int, name: str, value: float, ends: tuple[float, float]) -> list[Markup]:
        """One bar.

        Args:
            y: its upper edge.
            at: the place of its colour.
            name: before it.
            value: from 0 to 1.
            ends: of its interval.
        """
        middle = y + BAR / 2
        low, high = map(self.x, ends)
        size = {"y": float(y), "height": BAR}
        return [
            label(self._names, middle + 4, shortened(name, self._names), "name", "end"),
            tag("rect", x=self._left, width=self._span, class_="track", **size),
            tag("rect", x=self._left, width=max(value * self._span, 0.5), class_=f"bar c{at}", **size),
            line(low, middle, high, middle, "interval"),
            line(low, middle - 3, low, middle + 3, "interval"),
            line(high, middle - 3, high, middle + 3, "interval"),
            label(WIDTH - VALUES + 6, middle + 4, f"{value:.2f}", "value"),
        ]
