"""The documentation's page of benchmarks, and the same as one HTML file, from result files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memsift_ops.benchmarks import machine
from memsift_ops.benchmarks.section import Section
from memsift_ops.benchmarks.sections import SECTIONS
from memsift_ops.errors import Refused
from memsift_ops.evaluation.markup import tag
from memsift_ops.evaluation.page import sheet, whole

PICTURES = "benchmarks"
HEAD = """# Benchmarks

Each section is one run of one command on one machine; `memsift bench report` writes this page from the result
files. Ratios within a run carry over to other machines, times do not."""


def sections(records: Sequence[tuple[Path, Mapping[str, Any]]]) -> list[Section]:
    """The parts of the page, in the page's order.

    Raises:
        Refused: a file is no result that a section can show, or two are of one benchmark.
    """
    by_bench: dict[str, tuple[Path, Mapping[str, Any]]] = {}
    for path, record in records:
        if record["bench"] not in SECTIONS:
            raise Refused(f"{path}: there is no section for `memsift bench {record['bench']}`")
        if record["bench"] in by_bench:
            raise Refused(f"{path}: {by_bench[record['bench']][0]} is of the same benchmark")
        by_bench[record["bench"]] = path, record
    found = []
    for bench, section in SECTIONS.items():
        if bench in by_bench:
            path, record = by_bench[bench]
            try:
                found.append(section(record, _where(record)))
            except (KeyError, TypeError, ValueError) as error:
                raise Refused(f"{path}: is no whole result of `memsift bench {bench}`: {error!r}") from None
    return found


def write_docs(folder: Path, shown: Sequence[Section]) -> None:
    """Write `benchmarks.md` and a picture for each section."""
    pictures = folder / PICTURES
    pictures.mkdir(parents=True, exist_ok=True)
    for one in shown:
        if one.pictures:
            (pictures / f"{one.name}.svg").write_text(
                sheet(one.title, one.pictures.items()), encoding="utf-8"
            )
    parts = [HEAD, *(one.markdown(PICTURES) for one in shown)]
    (folder / "benchmarks.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def html(shown: Sequence[Section]) -> str:
    """The whole page as one file."""
    return whole("memsift bench", tag("h1", "Benchmarks"), *(one.html() for one in shown))


def _where(record: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items() if number)
    return f"Measured {record['at'][:10]}: {machine.in_words(record['machine'])}. {versions}."
