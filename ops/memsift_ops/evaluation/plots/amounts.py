"""A bar for each of a few amounts, from nothing to the largest."""

from __future__ import annotations

from collections.abc import Mapping

from memsift_ops.evaluation.markup import Markup, tag
from memsift_ops.evaluation.plots.canvas import WIDTH, label, names_width, shortened, svg

ROW, BAR, VALUES = 22, 14, 46


def amounts(shown: Mapping[str, float | None], unit: str) -> Markup | None:
    """One picture; None when there is nothing to show.

    Args:
        shown: name -> amount; None where there is none.
        unit: what the amounts are.
    """
    most = max((amount for amount in shown.values() if amount is not None), default=None)
    if most is None:
        return None
    names = names_width(shown)
    left = names + 8
    span = WIDTH - VALUES - left
    drawn: list[Markup] = []
    for at, (name, amount) in enumerate(shown.items()):
        y = float(at * ROW + 4)
        drawn.append(label(names, y + 11, shortened(name, names), "name", "end"))
        size = {"x": left, "y": y, "height": float(BAR)}
        drawn.append(tag("rect", width=span, class_="track", **size))
        if amount is not None:
            drawn.append(
                tag("rect", width=max(amount / (most or 1) * span, 0.5), class_=f"bar c{at}", **size)
            )
        told = "-" if amount is None else f"{amount:,.0f}" if amount >= 10 else f"{amount:,.3g}"  # noqa: PLR2004
        drawn.append(label(WIDTH - VALUES + 6, y + 11, told, "value"))
    words = (
        f"{name}: {'none' if amount is None else f'{amount:g}'} {unit}" for name, amount in shown.items()
    )
    return svg(len(shown) * ROW + 8, unit, words, *drawn)
