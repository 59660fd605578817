"""What the pictures are drawn with."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterable, Sequence

from memsift_ops.evaluation.markup import Markup, tag

# SVG units: as many as a card has CSS pixels on a phone 390 pixels wide, so that text there has its size.
WIDTH = 340
LABEL_GAP = 14
# Width of a bold glyph at 12 units in DejaVu Sans, one of the widest fonts that systems bring.
GLYPH = 7.8
NAMES_AT_MOST = 118
ELLIPSIS = "…"


def svg(height: float, title: str, told: Iterable[str], *parts: Markup) -> Markup:
    """One picture.

    Args:
        height: in units.
        title: what it is, for the pointer and for screen readers.
        told: its numbers in words, a text for each mark.
        *parts: what is drawn.
    """
    about = (tag("title", title), tag("desc", "; ".join(told) + "."))
    return tag("svg", *about, *parts, viewBox=f"0 0 {WIDTH} {height:g}", role="img")


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
    return tag("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_)


def label(x: float, y: float, text: str, class_: str = "", anchor: str | None = None) -> Markup:
    """Text whose base line is at y."""
    return tag("text", text, x=float(x), y=float(y), class_=class_ or None, text_anchor=anchor)


def dot(x: float, y: float, class_: str) -> Markup:
    """A mark."""
    return tag("circle", cx=float(x), cy=float(y), r=4.5, class_=f"dot {class_}")


def text_width(text: str) -> float:
    """About how wide a name is; Chinese glyphs count twice."""
    return GLYPH * sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def names_width(names: Iterable[str]) -> float:
    """Room for the longest of these names, but not more than leaves room for a picture."""
    return min(max(map(text_width, names), default=0.0), NAMES_AT_MOST)


def shortened(name: str, width: float) -> str:
    """The name, cut with an ellipsis where it is wider than that."""
    if text_width(name) <= width:
        return name
    while name and text_width(name + ELLIPSIS) > width:
        name = name[:-1]
    return name + ELLIPSIS


def apart(wanted: Sequence[float], lowest: float) -> list[float]:
    """The same places, moved down or up as little as keeps labels from overlapping.

    Args:
        wanted: where the labels belong.
        lowest: the largest y that a label may have.
    """
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    placed = list(wanted)
    for before, at in itertools.pairwise(order):
        placed[at] = max(placed[at], placed[before] + LABEL_GAP)
    for at in reversed(order):
        placed[at] = min(placed[at], lowest)
        lowest = placed[at] - LABEL_GAP
    return placed
