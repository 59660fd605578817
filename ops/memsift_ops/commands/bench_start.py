"""`memsift bench start`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from memsift_ops import bench_table
from memsift_ops.benchmarks import record
from memsift_ops.console import print_json, waiting
from memsift_ops.start_bench import answering, importing, installing
from memsift_ops.weights import ensure_model


@click.command("start")
@click.option(
    "--rounds", default=5, show_default=True, type=click.IntRange(1, 100), help="Starts and imports."
)
@click.option(
    "--no-install", is_flag=True, help="Leave out the size of the base install, which needs an index."
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write everything as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, rounds: int, no_install: bool, out: Path | None, as_json: bool) -> int:
    """Measure the time from a worker's start to its first answer, the producer's import, the base install.

    The producer is imported in an environment that holds the base install alone; with --no-install in this
    one, where redis imports more.
    """
    ensure_model()
    result = record.begun("start", {"rounds": rounds})
    with waiting("starting") as said:
        starts = []
        for at in range(rounds):
            said(f"starting a worker with its model, {at + 1} of {rounds}")
            starts.append(answering.first_answer_s())
        result["first_answer_s"] = starts
        result["install"] = None
        if no_install:
            result["imports"] = _imports(rounds, sys.executable)
        else:
            said("installing what a frontend needs into a new environment, and importing it there")
            with installing.base() as base:
                result["install"] = {"download_mb": base.download_mb, "installed_mb": base.installed_mb}
                result["imports"] = _imports(rounds, str(base.python))
    if out is not None:
        record.write(out, result)
    if as_json:
        print_json(result)
    else:
        _show(result)
    return 0


def _imports(rounds: int, python: str) -> list[dict[str, float]]:
    """The first one, which compiles, does not count."""
    return [importing.once(python) for _ in range(rounds + 1)][1:]


def _show(result: dict[str, Any]) -> None:
    bench_table.show(
        {
            "first answer, ms": [seconds * 1e3 for seconds in result["first_answer_s"]],
            "import, ms": [one["ms"] for one in result["imports"]],
            "import, CPU ms": [one["cpu_ms"] for one in result["imports"]],
        }
    )
    if result["install"] is not None:
        size = result["install"]
        click.echo(
            f"base install: {size['download_mb']:.1f} MB to download, {size['installed_mb']:.1f} MB on disk"
        )
