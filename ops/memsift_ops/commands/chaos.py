"""`memsift chaos`."""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
from pathlib import Path

import click
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from memsift_ops.chaos import report
from memsift_ops.chaos.run import play
from memsift_ops.chaos.scenarios import SCENARIOS
from memsift_ops.chaos.stage import FAULTS
from memsift_ops.console import stderr, stdout


@click.command("chaos")
@click.option(
    "--scenario",
    "names",
    multiple=True,
    type=click.Choice(list(SCENARIOS)),
    help="Only this one; may be given again.",
)
@click.option("--quick", is_flag=True, help="The short form of each, for CI: about a minute in all.")
@click.option("--seed", type=int, help="Of all random choices; shown at the end, to repeat a run.")
@click.option(
    "--out",
    default="build/chaos.json",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the numbers go.",
)
@click.option("--keep", is_flag=True, help="Keep logs and records, and say where.")
@click.option("--worker-loglevel", default="DEBUG", show_default=True, help="What the workers log.")
@click.option("--inject", "fault", default="", type=click.Choice(("", *FAULTS)), hidden=True)
def command(
    *,
    names: tuple[str, ...],
    quick: bool,
    seed: int | None,
    out: Path,
    keep: bool,
    worker_loglevel: str,
    fault: str,
) -> int:
    """Break everything that can break, with real processes, and count what callers got.

    Exit code 1 when a promise was broken; docs/chaos.md says what the numbers mean.
    """
    seed = secrets.randbits(32) if seed is None else seed
    chosen = names or tuple(SCENARIOS)
    folder = Path(tempfile.mkdtemp(prefix="memsift-chaos-"))
    columns = (TextColumn("{task.description:<10}"), BarColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=stderr(), transient=True) as progress:
            task = progress.add_task("starting", total=len(chosen))
            begun: list[str] = []

            def begin(name: str) -> None:
                progress.update(task, description=name, completed=len(begun))
                begun.append(name)

            results, found = play(
                chosen,
                folder=folder,
                seed=seed,
                quick=quick,
                fault=fault,
                loglevel=worker_loglevel,
                on_scenario=begin,
                on_tick=progress.refresh,
            )
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    numbers = report.as_json(results, found, seed=seed, quick=quick)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(numbers, indent=2) + "\n")
    report.show(stdout(), results, found)
    click.echo(f"\nseed {seed}; all numbers are in {out}" + (f"; logs are in {folder}" if keep else ""))
    return 1 if numbers["broken"] else 0
