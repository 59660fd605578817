"""The pictures of the report, as SVG that scales with the page and takes its colours from the style sheet.

Colours are classes `c0`, `c1`, ... in the order of the rankers; the prefilter is always `c0`, a grey.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memsift_ops.evaluation.markup import Markup, joined, tag

WIDTH, HEIGHT = 360, 250
LEFT, RIGHT, TOP, BOTTOM = 38, 90, 12, 36
# What a chat waits for the whole step, milliseconds.
BUDGET_MS = (300.0, 500.0)
TICKS_MS = {0.1: "0.1", 1.0: "1", 10.0: "10", 100.0: "100", 1e3: "1 s", 1e4: "10 s", 1e5: "100 s"}
LABEL_GAP = 13
ROW, BAR, HEAD = 17, 11, 20
NAMES = 92
METRIC = "mrr"

Scale = Callable[[float], float]


def _svg(width: float, height: float, title: str, *parts: Markup) -> Markup:
    about = {"role": "img", "aria_label": title}
    return tag("svg", tag("title", title), *parts, viewBox=f"0 0 {width:g} {height:g}", **about)


def _line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return tag("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_)


def _label(x: float, y: float, text: str, class_: str = "", anchor: str | None = None) -> Markup:
    return tag("text", text, x=float(x), y=float(y), class_=class_ or None, text_anchor=anchor)


def quality_against_latency(name: str, rankers: Mapping[str, Mapping[str, Any]]) -> Markup:
    """MRR over the median latency of one set, with the budget as a band.

    The upright line is the 95% interval of the MRR, the level one goes to the 95th percentile of the latency.
    """
    points = [
        (at, ranker, one) for at, (ranker, one) in enumerate(rankers.items()) if one[METRIC] is not None
    ]
    times = [one["latency_ms"][key] for _, _, one in points for key in ("p50", "p95")]
    low: float = 10 ** math.floor(math.log10(max(min([1.0, *times]), 0.1)))
    high: float = 10 ** math.ceil(math.log10(max([1000.0, *times])))
    floor: float = math.floor(min([0.8, *(one["ci95"][METRIC][0] for _, _, one in points)]) * 10) / 10

    def x(ms: float) -> float:
        part: float = math.log10(max(ms, low) / low) / math.log10(high / low)
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return TOP + (1 - value) / (1 - floor) * float(HEIGHT - TOP - BOTTOM)

    drawn = [_budget(x), *_grid(x, y, floor, low, high)]
    at_y = _apart([y(one[METRIC]) for _, _, one in points])
    for (at, ranker, one), label_y in zip(points, at_y, strict=True):
        latency, value, (bottom, top) = one["latency_ms"], one[METRIC], one["ci95"][METRIC]
        drawn += [
            _line(x(latency["p50"]), y(bottom), x(latency["p50"]), y(top), f"whisker c{at}"),
            _line(x(latency["p50"]), y(value), x(latency["p95"]), y(value), f"whisker c{at}"),
            tag("circle", cx=x(latency["p50"]), cy=y(value), r=5, class_=f"dot c{at}"),
            _line(x(latency["p95"]), y(value), WIDTH - RIGHT + 6, label_y, f"leader c{at}"),
            _label(WIDTH - RIGHT + 8, label_y + 4, ranker, f"name c{at}"),
        ]
    return _svg(WIDTH, HEIGHT, f"{name}: MRR against latency", *drawn)


def _budget(x: Scale) -> Markup:
    left, right = map(x, BUDGET_MS)
    band = tag("rect", x=left, y=TOP, width=right - left, height=HEIGHT - TOP - BOTTOM, class_="budget")
    return joined(band, _label((left + right) / 2, HEIGHT - BOTTOM - 5, "budget", "note", "middle"))


def _grid(x: Scale, y: Scale, floor: float, low: float, high: float) -> list[Markup]:
    drawn = []
    for step in range(round(floor * 10), 11):
        value = step / 10
        drawn += [
            _line(LEFT, y(value), WIDTH - RIGHT, y(value), "grid"),
            _label(LEFT - 6, y(value) + 4, f"{value:.1f}", "tick", "end"),
        ]
    for ms, told in TICKS_MS.items():
        if low <= ms <= high:
            drawn.append(_label(x(ms), HEIGHT - BOTTOM + 15, told, "tick", "middle"))
    middle = (LEFT + WIDTH - RIGHT) / 2
    return [*drawn, _label(middle, HEIGHT - 4, "milliseconds, whole call (log)", "note", "middle")]


def _apart(wanted: Sequence[float]) -> list[float]:
    """The same places, moved down or up as little as keeps labels from overlapping."""
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    placed = list(wanted)
    for before, at in itertools.pairwise(order):
        placed[at] = max(placed[at], placed[before] + LABEL_GAP)
    limit: float = HEIGHT - BOTTOM
    for at in reversed(order):
        placed[at] = min(placed[at], limit)
        limit = placed[at] - LABEL_GAP
    return placed


def differences(name: str, rankers: Mapping[str, Mapping[str, Any]]) -> Markup | None:
    """MRR gained over the prefilter with its paired 95% interval; None when there is nothing to compare."""
    found = [
        (at, ranker, one["against_prefilter"][METRIC])
        for at, (ranker, one) in enumerate(rankers.items())
        if one["against_prefilter"] is not None
    ]
    if not found:
        return None
    reach: float = max(0.02, *(abs(end) for _, _, one in found for end in one["ci95"]))
    height = TOP + len(found) * (ROW + 6) + BOTTOM - 8
    middle = NAMES + (WIDTH - NAMES - 50) / 2

    def x(value: float) -> float:
        return middle + value / reach * (WIDTH - NAMES - 50) / 2

    bottom = height - BOTTOM + 10
    drawn = [_line(x(0), TOP - 6, x(0), bottom, "zero")]
    drawn += [
        _label(x(value), bottom + 14, f"{value:+.2f}" if value else "0", "tick", "middle")
        for value in (-reach, 0.0, reach)
    ]
    for row, (at, ranker, one) in enumerate(found):
        y = TOP + row * (ROW + 6) + ROW / 2
        low, high = one["ci95"]
        drawn += [
            _label(NAMES - 8, y + 4, ranker, f"name c{at}", "end"),
            _line(x(low), y, x(high), y, f"whisker c{at}"),
            tag("circle", cx=x(one["difference"]), cy=y, r=4.5, class_=f"dot c{at}"),
            _label(WIDTH - 42, y + 4, f"{one['difference']:+.3f}", "value"),
        ]
    return _svg(WIDTH, height, f"{name}: MRR gained over the prefilter", *drawn)


def groups(name: str, rankers: Mapping[str, Mapping[str, Any]], by: str) -> Markup | None:
    """Bars of the MRR for each group, with intervals.

    Args:
        name: the set's name.
        rankers: the numbers of the set.
        by: `by_category` or `by_language`.

    Returns:
        None when there are not at least two groups.
    """
    names = sorted({group for one in rankers.values() for group in one[by]})
    if len(names) < 2:  # noqa: PLR2004
        return None
    drawn: list[Markup] = []
    y = 0.0
    for group in names:
        present = [
            (at, ranker, one[by][group])
            for at, (ranker, one) in enumerate(rankers.items())
            if group in one[by]
        ]
        queries = max(one["n"] for _, _, one in present)
        drawn.append(_label(0, y + 13, f"{group} ({queries})", "head"))
        y += HEAD
        for at, ranker, one in present:
            drawn += _bar(y, at, ranker, one)
            y += ROW
        y += 8
    return _svg(WIDTH, y, f"{name}: MRR {by.replace('_', ' ')}", *drawn)


def _bar(y: float, at: int, ranker: str, one: Mapping[str, Any]) -> list[Markup]:
    span = WIDTH - NAMES - 40
    middle = y + BAR / 2
    low, high = one["ci95"][METRIC]
    return [
        _label(NAMES - 8, middle + 4, ranker, "tick", "end"),
        tag("rect", x=NAMES, y=y, width=span, height=BAR, class_="track"),
        tag("rect", x=NAMES, y=y, width=max(one[METRIC] * span, 0.5), height=BAR, class_=f"bar c{at}"),
        _line(NAMES + low * span, middle, NAMES + high * span, middle, "interval"),
        _label(WIDTH - 34, middle + 4, f"{one[METRIC]:.2f}", "value"),
    ]
