"""`memsift doctor`."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

import click
from rich.table import Table
from rich.text import Text

from memsift_ops.console import print_json, stdout, waiting
from memsift_ops.doctor.examination import Patient, examine
from memsift_ops.doctor.finding import Finding, State, is_healthy
from memsift_ops.doctor.rights import Side
from memsift_schemas import settings as settings_module
from memsift_schemas.clock import SystemClock
from memsift_schemas.settings import ProducerSettings, WorkerSettings

_SIGNS = {
    State.OK: ("✓", "green"),
    State.WARNING: ("!", "yellow"),
    State.FAULT: ("✗", "red"),
    State.SKIPPED: ("-", "dim"),
}


@click.command("doctor")
@click.option(
    "--side",
    type=click.Choice(["worker", "frontend"]),
    default="worker",
    show_default=True,
    help="Whose rights MEMSIFT_REDIS_URL should have.",
)
@click.option(
    "--operator-url",
    envvar="MEMSIFT_OPERATOR_URL",
    show_envvar=True,
    help="The same Redis with an operator's rights, for what a worker may not ask.",
)
@click.option(
    "--patience",
    type=click.FloatRange(1, 600),
    default=30.0,
    show_default=True,
    help="Seconds that the model may take to be ready.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, side: Side, operator_url: str | None, patience: float, as_json: bool) -> int:
    """Look at everything that a deployment needs, and say what to do about what is wrong.

    Reads the same MEMSIFT_ variables as a worker and a frontend; run it where they run. It changes nothing:
    rights are tried in a transaction that is thrown away, and the one test job is about made-up memories.

    Exit code 0: no fault (warnings may be). 1: a fault.
    """
    patient = Patient(
        worker=settings_module.load(WorkerSettings),
        frontend=settings_module.load(ProducerSettings),
        side=side,
        operator_url=operator_url,
        clock=SystemClock(),
        start_s=patience,
    )
    findings = asyncio.run(_findings(patient))
    if as_json:
        print_json({"healthy": is_healthy(findings), "findings": [asdict(one) for one in findings]})
    else:
        _show(findings)
    return 0 if is_healthy(findings) else 1


async def _findings(patient: Patient) -> list[Finding]:
    with waiting("looking at packages") as telling:
        return [one async for one in examine(patient, lambda what: telling(f"looking at {what}"))]


def _show(findings: list[Finding]) -> None:
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for one in findings:
        sign, style = _SIGNS[one.state]
        told = Text(one.told)
        if one.remedy:
            told.append(f"\n→ {one.remedy}", style="bold" if one.state is State.FAULT else "")
        table.add_row(Text(sign, style=style), Text(one.check, style=style), told)
    stdout().print(table)
    counts = {state: sum(one.state is state for one in findings) for state in State}
    parts = [f"{counts[state]} {state}" for state in State if counts[state]]
    click.echo(", ".join(parts))
