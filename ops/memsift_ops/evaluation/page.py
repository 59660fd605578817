"""A page around what a report shows: one HTML or SVG file without script, and nothing from outside."""

from __future__ import annotations

from collections.abc import Iterable

from memsift_ops.evaluation.markup import Markup, raw, tag
from memsift_ops.evaluation.plots.canvas import WIDTH
from memsift_ops.evaluation.style import STYLE, colour_classes

GAP, CAPTION, COLUMNS = 16, 26, 2

_META = '<meta charset="utf-8" /><meta name="viewport" content="width=device-width, initial-scale=1" />'


def whole(title: str, *shown: Markup) -> str:
    """The file's text.

    Args:
        title: of the window.
        *shown: what stands on the page, one below the other.
    """
    head = tag("head", raw(_META), tag("title", title), tag("style", raw(STYLE + colour_classes())))
    return "<!DOCTYPE html>\n" + tag("html", head, tag("body", tag("main", *shown)), lang="en") + "\n"


def sheet(about: str, pictures: Iterable[tuple[str, Markup]]) -> str:
    """Pictures in one SVG file, two beside each other.

    Args:
        about: for the pointer and for screen readers.
        pictures: each with its title.
    """
    parts: list[Markup] = []
    y, row, columns = float(GAP), 0.0, 1
    for at, (title, drawn) in enumerate(pictures):
        x = GAP + at % COLUMNS * (WIDTH + 2 * GAP)
        columns = max(columns, at % COLUMNS + 1)
        if at and at % COLUMNS == 0:
            y, row = y + row, 0.0
        height = float(drawn.split('viewBox="0 0 ', 1)[1].split('"', 1)[0].split()[1])
        parts.append(tag("text", title, x=x, y=y + CAPTION - 10, class_="head"))
        place = f'<svg x="{x}" y="{y + CAPTION:g}" width="{WIDTH}" height="{height:g}" '
        parts.append(raw(drawn.replace("<svg ", place, 1)))
        row = max(row, CAPTION + height + GAP)
    size = {"width": columns * (WIDTH + 2 * GAP), "height": y + row}
    style = tag("style", raw(f"{STYLE}{colour_classes()} text {{ font-family: system-ui, sans-serif; }}"))
    ground = tag("rect", fill="var(--card)", **size)
    box = f"0 0 {size['width']:g} {size['height']:g}"
    drawing = tag(
        "svg",
        tag("title", about),
        style,
        ground,
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=box,
        **size,
    )
    return drawing + "\n"
