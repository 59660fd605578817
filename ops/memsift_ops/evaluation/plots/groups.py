"""Quality by category or language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsift_ops.evaluation.markup import Markup
from memsift_ops.evaluation.plots.bars import ROW, Bars
from memsift_ops.evaluation.plots.canvas import WIDTH, label, names_width, shortened, svg

HEAD, GAP = 20, 8
METRIC = "mrr"


def groups(name: str, rankers: Mapping[str, Mapping[str, Any]], by: str) -> Markup | None:
    """Bars of the MRR for each group, with intervals.

    Args:
        name: the set's name.
        rankers: the numbers of the set.
        by: `by_category` or `by_language`.

    Returns:
        None when there are not at least two groups.
    """
    found = sorted({group for one in rankers.values() for group in one[by]})
    if len(found) < 2:  # noqa: PLR2004
        return None
    bars = Bars(names_width(rankers))
    drawn: list[Markup] = []
    told: list[str] = []
    y = 0.0
    for group in found:
        present = [
            (at, ranker, one[by][group])
            for at, (ranker, one) in enumerate(rankers.items())
            if group in one[by]
        ]
        queries = f" ({max(one['n'] for _, _, one in present)})"
        drawn.append(label(0, y + 13, shortened(group, WIDTH - 60) + queries, "head"))
        told.append(f"{group}: " + ", ".join(f"{ranker} {one[METRIC]:.2f}" for _, ranker, one in present))
        y += HEAD
        for at, ranker, one in present:
            drawn += bars.drawn(y, at, ranker, one[METRIC], tuple(one["ci95"][METRIC]))
            y += ROW
        y += GAP
    return svg(y, f"{name}: MRR {by.replace('_', ' ')}", told, *drawn)
