"""Builds HTML and SVG as text, with everything that comes from outside escaped."""

from __future__ import annotations

import html
from typing import NewType

# Markup that is safe to insert as it is.
Markup = NewType("Markup", str)

Child = str | Markup


class _Raw(str):
    """Marks text as markup, so that it is escaped once and not twice."""

    __slots__ = ()


def tag(name: str, *children: Child, **attributes: object) -> Markup:
    """One element, also well-formed as XML.

    Args:
        name: the element's name.
        *children: markup made here goes in as it is, any other text escaped.
        **attributes: `_` stands for `-`, a trailing one is dropped (`class_`); numbers get two digits at
            most, and None leaves the attribute out.
    """
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(child if isinstance(child, _Raw) else html.escape(child) for child in children)
    return Markup(_Raw(f"<{name}{told}>{inside}</{name}>"))


def raw(text: str) -> Markup:
    """Text of our own that goes in as it is, such as a style sheet."""
    return Markup(_Raw(text))


def joined(*parts: Markup) -> Markup:
    """Elements one after the other."""
    return raw("".join(parts))


def _text(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
