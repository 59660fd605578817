"""A page around what a report shows: one HTML file without script, and nothing from outside."""

from __future__ import annotations

from memsift_ops.evaluation.markup import Markup, raw, tag
from memsift_ops.evaluation.style import STYLE, colour_classes

_META = '<meta charset="utf-8" /><meta name="viewport" content="width=device-width, initial-scale=1" />'


def whole(title: str, *shown: Markup) -> str:
    """The file's text.

    Args:
        title: of the window.
        *shown: what stands on the page, one below the other.
    """
    head = tag("head", raw(_META), tag("title", title), tag("style", raw(STYLE + colour_classes())))
    return "<!DOCTYPE html>\n" + tag("html", head, tag("body", tag("main", *shown)), lang="en") + "\n"
