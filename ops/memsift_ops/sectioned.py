"""A command whose help shows its options under headings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import click


class Sectioned(click.Command):
    """Subclass it with the headings.

    Attributes:
        sections: heading -> options by the name of their parameter; the others come last.
    """

    sections: ClassVar[Mapping[str, Sequence[str]]] = {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        left = {option.name: option for option in self.get_params(ctx)}
        sections = {
            title: [left.pop(name) for name in names if name in left]
            for title, names in self.sections.items()
        }
        sections["Options"] = list(left.values())
        for title, options in sections.items():
            records = [record for option in options if (record := option.get_help_record(ctx))]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
