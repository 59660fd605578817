"""`memsift eval`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from memsift_ops import console, datasets
from memsift_ops.errors import Failure, Refused
from memsift_ops.evaluation import bad_cases, glance, questions, report, running, worker
from memsift_ops.evaluation.outcome import PREFILTER
from memsift_ops.evaluation.run_file import RunFile, fingerprint
from memsift_schemas.settings import RANKERS


def _rankers(_context: click.Context, _option: click.Parameter, value: str) -> list[str]:
    """The asked rankers, the prefilter first: everything is compared with it."""
    names = [name.strip() for name in value.split(",") if name.strip()]
    for part in (part for name in names if name != PREFILTER for part in name.split(">")):
        if part not in RANKERS:
            known = ", ".join((PREFILTER, *RANKERS))
            raise click.BadParameter(f"rankers are {known}, and chains of workers' ones such as a>b")
    return list(dict.fromkeys([PREFILTER, *names]))


@click.command("eval")
@click.option(
    "--data",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of sets.",
)
@click.option("--set", "sets", multiple=True, help="A set in --data; give it again for more.  [default: all]")
@click.option(
    "--ranker",
    "rankers",
    default="prefilter,jev",
    show_default=True,
    callback=_rankers,
    help="Comma-separated rankers and chains, such as 'prefilter,jev,jev>local'.",
)
@click.option("--limit", type=click.IntRange(1), help="Queries of each set.  [default: all]")
@click.option("--seed", default=1, show_default=True, help="Which queries --limit takes; of the bootstrap.")
@click.option(
    "--concurrency",
    default=1,
    show_default=True,
    type=click.IntRange(1, 64),
    help="Questions under way at once; above 1 the latency is that of a queue.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a report with pictures.")
@click.option(
    "--run",
    "run_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep every outcome here; goes on where a killed run was.",
)
@click.option("--show-text", is_flag=True, help="Put questions and memories into the bad cases of --html.")
def command(
    *,
    data: Path,
    sets: tuple[str, ...],
    rankers: list[str],
    limit: int | None,
    seed: int,
    concurrency: int,
    html: Path | None,
    run_path: Path | None,
    as_json: bool,
    show_text: bool,
) -> None:
    """Measure rankers on labelled questions: precision, latency, cost, and what leaves the network.

    Every question goes through the real queue, to the worker at MEMSIFT_REDIS_URL if one is ready there,
    else to a temporary one that serves the asked rankers. The exit code is 1 when a ranker answered nothing.
    """
    asked = {name: datasets.load(data, name, limit=limit, seed=seed) for name in questions.chosen(data, sets)}
    arguments = {"rankers": rankers, "limit": limit, "seed": seed, "concurrency": concurrency}
    wanted = {
        **arguments,
        "sets": list(asked),
        "data": questions.digest(data, list(asked)),
        "settings": worker.relevant_settings(),
    }
    with RunFile(run_path, fingerprint(wanted)) as run:
        running.complete(run, asked, rankers, concurrency=concurrency)
    found = running.reported(run, asked, rankers, arguments)
    if html is not None:
        cases = bad_cases.worst(asked, rankers, run.outcomes, show_text=show_text)
        _write(html, report.page(found, cases))
    if as_json:
        console.print_json(found)
    else:
        console.stdout().print(glance.terminal(found["sets"]))
        _tell_needs(found["sets"])
        _tell_fallbacks(found["sets"])
    _judge(found["sets"])


def _write(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise Refused(f"cannot write {path}: {error.strerror}") from None


def _tell_needs(sets: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    found = next(iter(sets.values()))
    needs = "; ".join(f"{ranker}: {numbers['needs']}" for ranker, numbers in found.items())
    click.echo(f"to deploy: {needs}")


def _tell_fallbacks(sets: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    for name, found in sets.items():
        for ranker, numbers in found.items():
            if numbers["fell_back"]["n"]:
                causes = ", ".join(f"{cause} {n}" for cause, n in numbers["fell_back"]["causes"].items())
                click.echo(f"{name}, {ranker}: {numbers['fell_back']['n']} fell back ({causes})")


def _judge(sets: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    silent = [
        f"{ranker} on {name}" for name, found in sets.items() for ranker in found if not found[ranker]["n"]
    ]
    if silent:
        raise Failure(f"no answer came from {', '.join(silent)}, so this is no measure of it")
