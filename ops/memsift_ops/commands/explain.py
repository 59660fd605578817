"""`memsift explain`."""

from __future__ import annotations

from pathlib import Path

import click

from memsift_ops import console
from memsift_ops.decisions import explaining, reading


@click.command("explain")
@click.argument("job")
@click.option(
    "--log",
    "logs",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="A decision log's folder or file; give it again for more.  [default: MEMSIFT_DECISION_LOG]",
)
@click.option("--show-text", is_flag=True, help="Show question and memories too, where the log keeps them.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(job: str, logs: tuple[Path, ...], *, show_text: bool, as_json: bool) -> None:
    """Say why each memory of JOB came into the prompt or stayed out.

    JOB is the `job_id` of a result, or the beginning of one. For each memory: the prefilter's signals, score
    and place, of which newer memory it is a duplicate, what the model said, the final place, and where it was
    cut off. The log is written by frontends with MEMSIFT_DECISION_LOG; see docs/decisions.md.
    """
    decision, told = reading.find(reading.given(logs), job)
    text = reading.text(decision, reading.key_ring()) if show_text else None
    if as_json:
        console.print_json(explaining.as_json(decision, told, text))
    else:
        explaining.show(console.stdout(), decision, told, text)
