"""`memsift bench report`."""

from __future__ import annotations

from pathlib import Path

import click

from memsift_ops.benchmarks import page, record
from memsift_ops.errors import Refused


@click.command("report")
@click.argument(
    "results", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--docs",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write benchmarks.md and its pictures there.",
)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write one HTML file.")
def command(*, results: tuple[Path, ...], docs: Path | None, html: Path | None) -> None:
    """Build the page of benchmarks from the result files that the benchmarks wrote with --out."""
    if docs is None and html is None:
        raise Refused("where to? --docs FOLDER, --html FILE, or both")
    shown = page.sections([(path, record.read(path)) for path in results])
    if docs is not None:
        page.write_docs(docs, shown)
    if html is not None:
        html.parent.mkdir(parents=True, exist_ok=True)
        html.write_text(page.html(shown), encoding="utf-8")
    for one in shown:
        click.echo(f"{one.title}: {len(one.tables)} tables, {len(one.pictures)} pictures")
