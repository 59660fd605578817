"""The settings as a page of the docs; `python -m memsift_ops.settings_table > docs/settings.md` writes it."""

from __future__ import annotations

import types
import typing

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from memsift_schemas.settings import PREFIX, GatewaySettings, ProducerSettings, Settings, WorkerSettings

HEAD = """# Settings

An explicit argument beats the environment, which beats the default. A wrong value is refused at start, with
the variable's name. This page is generated from the code by `make docs`."""
SECTIONS: tuple[tuple[str, type[Settings]], ...] = (
    ("Both sides", Settings),
    ("Frontend", ProducerSettings),
    ("Gateway", GatewaySettings),
    ("Worker", WorkerSettings),
)
WORDS: dict[type, str] = {bool: "`0` or `1`", int: "whole number", float: "number", str: "text"}


def page() -> str:
    """The page in Markdown: one table per role, each setting where it is introduced."""
    parts = [HEAD]
    for title, role in SECTIONS:
        shared = {} if role is Settings else typing.cast("type[Settings]", role.__base__).model_fields
        own = {name: field for name, field in role.model_fields.items() if name not in shared}
        rows = [_row(name, field) for name, field in own.items()]
        parts.append(
            "\n".join(
                [f"## {title}\n", "| variable | values | default | what it is |", "|---|---|---|---|", *rows]
            )
        )
    return "\n\n".join(parts) + "\n"


def _row(name: str, field: FieldInfo) -> str:
    value = int(field.default) if isinstance(field.default, bool) else field.default
    default = "" if value in (None, PydanticUndefined) else f"`{value}`"
    return f"| `{PREFIX}{name.upper()}` | {_values(field)} | {default} | {field.description} |"


def _values(field: FieldInfo) -> str:
    kind = field.annotation
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        kind = next(one for one in typing.get_args(kind) if one is not type(None))
    if typing.get_origin(kind) is typing.Literal:
        return ", ".join(f"`{value}`" for value in typing.get_args(kind))
    name = WORDS.get(typing.cast("type", kind), str(kind))
    bounds = {type(rule).__name__: rule for rule in field.metadata}
    limits = [
        f"{word} {getattr(bounds[rule], attribute)}"
        for rule, attribute, word in (("Gt", "gt", "above"), ("Ge", "ge", "from"), ("Le", "le", "to"))
        if rule in bounds
    ]
    return " ".join([name, *limits])


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201  # this module's whole purpose
