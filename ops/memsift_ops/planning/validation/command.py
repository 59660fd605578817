"""`memsift plan --validate`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import click
from rich import box
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from memsift_ops import weights
from memsift_ops.console import print_json, stderr, stdout
from memsift_ops.errors import Failure
from memsift_ops.planning.roofline import Roofline
from memsift_ops.planning.validation.judging import HIT_POINTS, TIME_SHARE, Verdict, holds, judge
from memsift_ops.planning.validation.predicting import calibrate, predict
from memsift_ops.planning.validation.replaying import Measured, replay
from memsift_ops.planning.validation.workloads import CALIBRATION, UNSEEN, Workload
from memsift_workers.runtimes.base import RuntimeFault

REPEATS = 2


def run(*, as_json: bool) -> int:
    """Replay all workloads, calibrate on some, predict the others.

    Returns:
        0 when the simulator keeps its promise, else 1.
    """
    model = weights.pull()
    workloads = (*CALIBRATION, *UNSEEN)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    shown = stderr()
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as progress:
        bar = progress.add_task("", total=REPEATS * sum(workload.calls for workload in workloads))
        measured = []
        for workload in workloads:
            progress.update(bar, description=workload.name)
            measured.append(_replay(model, workload, lambda: progress.advance(bar)))
    roofline = calibrate(list(zip(CALIBRATION, measured, strict=False)))
    verdicts = _verdicts(workloads, measured, roofline)
    if as_json:
        print_json({"holds": holds(verdicts), "workloads": [verdict.as_json() for verdict in verdicts]})
    else:
        _tell(verdicts, roofline)
    return 0 if holds(verdicts) else 1


def _replay(model: Path, workload: Workload, advance: Callable[[], None]) -> Measured:
    try:
        return asyncio.run(replay(model, workload, repeats=REPEATS, advance=advance))
    except RuntimeFault as fault:
        raise Failure(f"the embedded engine failed: {fault}") from None


def _verdicts(workloads: tuple[Workload, ...], measured: list[Measured], roofline: Roofline) -> list[Verdict]:
    predicted = [predict(workload, roofline) for workload in workloads]
    turns = len(measured[0].cpu_s)
    reference = predicted[0].cpu_s / turns, float(measured[0].cpu_s.mean())
    return [
        judge(*three, reference, unseen=three[0] in UNSEEN)
        for three in zip(workloads, predicted, measured, strict=True)
    ]


def _tell(verdicts: list[Verdict], roofline: Roofline) -> None:
    table = Table(box=box.SIMPLE, header_style="dim", pad_edge=False)
    table.add_column("predicted / measured", no_wrap=True)
    for name in ("turns", "cached", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    for verdict in verdicts:
        close = verdict.hit_is_close and verdict.time_is_close
        said = ("close" if close else "OFF") if verdict.unseen else "calibrated on"
        cached = " / ".join(f"{ratio:.1%}" for ratio in verdict.hit_ratio)
        times = " / ".join(f"{share:.2f}" for share in verdict.relative_time)
        style = None if close or not verdict.unseen else "red"
        table.add_row(verdict.name, f"{verdict.turns}", cached, times, said, style=style)
    stdout().print(table)
    click.echo(
        f"cached: prompt tokens from the cache; close within {HIT_POINTS * 100:.0f} points. "
        f"time: CPU time of a turn over that of '{verdicts[0].name}', the least of {REPEATS} runs; "
        f"close within {TIME_SHARE:.0%}.\n"
        f"Calibrated: {roofline.overhead * 1e3:.1f} ms a turn, {roofline.per_prompt * 1e3:.2f} ms a prompt, "
        f"{roofline.per_token * 1e6:.0f} µs a token, {roofline.per_pair * 1e9:.0f} ns a pair of tokens."
    )
