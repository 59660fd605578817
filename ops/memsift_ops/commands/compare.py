"""`memsift compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich import box
from rich.markup import escape
from rich.table import Table

from memsift_ops import console
from memsift_ops.evaluation import comparing
from memsift_ops.evaluation.comparing import Difference

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("compare")
@click.argument("before", metavar="A.json", type=_FILE)
@click.argument("after", metavar="B.json", type=_FILE)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(before: Path, after: Path, *, as_json: bool) -> None:
    """Tell what got better or worse from A to B, and what is noise.

    Both are what `memsift eval --json` printed. A difference counts when it is larger than the two 95%
    intervals allow for.
    """
    old, new = comparing.read(before), comparing.read(after)
    found = comparing.differences(old, new)
    alone = comparing.only_in_one(old, new)
    if as_json:
        told = [difference.as_json() for difference in found]
        in_sample = {"a": old.in_sample, "b": new.in_sample}
        console.print_json({"differences": told, "only_in_one": alone, "in_sample": in_sample})
        return
    if found:
        console.stdout().print(_table(found))
    for name, report in (("A", old), ("B", new)):
        if report.in_sample:
            click.echo(f"in-sample in {name}: {', '.join(report.in_sample)}")
    for name in alone:
        click.echo(f"only in one of the two: {name}")


def _table(found: Sequence[Difference]) -> Table:
    table = Table(box=box.ROUNDED, header_style="dim")
    for name in ("set", "ranker", "metric"):
        table.add_column(name, overflow="fold")
    for name in ("A", "B", "B - A", "noise"):
        table.add_column(name, justify="right")
    table.add_column("")
    for at, one in enumerate(found):
        better = "better" if one.difference > 0 else "worse"
        verdict, style = (
            ("noise", "dim") if one.is_noise else (better, "green" if better == "better" else "red")
        )
        last = at + 1 == len(found) or (found[at + 1].set, found[at + 1].ranker) != (one.set, one.ranker)
        numbers = (f"{one.before:.3f}", f"{one.after:.3f}", f"{one.difference:+.3f}", f"±{one.noise:.3f}")
        names = (escape(one.set), escape(one.ranker), one.metric)
        table.add_row(*names, *numbers, verdict, style=style, end_section=last)
    return table
