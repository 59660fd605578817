"""What a benchmark has to say, written once and shown as Markdown and as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memsift_ops.evaluation.markup import Markup, joined, tag


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text; the first column is left-aligned, the others are numbers.

    Attributes:
        columns: its heads.
        rows: as many cells each.
        caption: what it shows.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    def markdown(self) -> str:
        """A pipe table."""
        lines = [
            _row(self.columns),
            _row(["---", *("---:" for _ in self.columns[1:])]),
            *map(_row, self.rows),
        ]
        return (f"{self.caption}\n\n" if self.caption else "") + "\n".join(lines)

    def html(self) -> Markup:
        """The same table."""
        heads = tag("tr", *(tag("th", name, scope="col") for name in self.columns))
        rows = [
            tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:]))
            for row in self.rows
        ]
        caption = (tag("caption", self.caption),) if self.caption else ()
        table = tag("table", *caption, tag("thead", heads), tag("tbody", *rows))
        return tag("div", table, class_="scroll", role="region", aria_label=self.caption, tabindex=0)


@dataclass(frozen=True, slots=True)
class Section:
    """One benchmark's part of the page.

    Attributes:
        name: of its picture's file.
        title: its heading.
        command: what was run.
        machine: where and when, in words.
        text: paragraphs.
        tables: below them.
        pictures: with their titles.
    """

    name: str
    title: str
    command: str
    machine: str
    text: Sequence[str] = ()
    tables: Sequence[Table] = ()
    pictures: Mapping[str, Markup] = field(default_factory=dict)

    def markdown(self, folder: str) -> str:
        """As a part of a page.

        Args:
            folder: where the page finds the pictures.
        """
        parts = [f"## {self.title}", f"    {self.command}", *self.text]
        if self.pictures:
            parts.append(f"![{self.title}]({folder}/{self.name}.svg)")
        parts += [table.markdown() for table in self.tables]
        return "\n\n".join([*parts, self.machine])

    def html(self) -> Markup:
        """The same."""
        cards = [
            tag("figure", tag("figcaption", title), picture, class_="card")
            for title, picture in self.pictures.items()
        ]
        return joined(
            tag("h2", self.title),
            tag("p", tag("code", self.command)),
            *(tag("p", one) for one in self.text),
            tag("div", *cards, class_="cards"),
            *(table.html() for table in self.tables),
            tag("p", self.machine),
        )


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
