"""`memsift eval`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from memsift_ops import console, datasets
from memsift_ops.evaluation import bad_cases, in_sample, options, questions, report, running, telling, worker
from memsift_ops.evaluation.fitting import fit_calibration, fit_weights, settings_file
from memsift_ops.evaluation.fitting.curves import Method
from memsift_ops.evaluation.prices import PriceFile
from memsift_ops.evaluation.run_file import RunFile, fingerprint


@click.command("eval", cls=options.Sectioned)
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
    callback=options.rankers,
    help="Comma-separated rankers and chains, such as 'prefilter,jev,jev>local'.",
)
@click.option(
    "--strategy",
    "strategies",
    metavar="NAME,...",
    callback=options.strategies,
    help="Measure local once for each: likelihood, pointwise, listwise, scorecard.  [default: the setting]",
)
@click.option(
    "--prices",
    "price_file",
    metavar="FILE",
    callback=options.price_file,
    help="Tell the cost by this price file; 'default' is ours.  [default: what the rankers tell]",
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
@click.option(
    "--show-text",
    is_flag=True,
    help="Put questions, memories and rankers' reasons into --html, and reasons into --run.",
)
@click.option(
    "--fit",
    type=click.Choice([*fit_weights.LINEAR, "calibration"]),
    help="Learn weights, or curves of relevance for --ranker, on these sets instead of a report; into --out.",
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The file that --fit writes.")
@click.option(
    "--method",
    type=click.Choice(["isotonic", "platt"]),
    default="isotonic",
    show_default=True,
    help="Of the curves of `--fit calibration`.",
)
@click.option(
    "--settings",
    "settings_path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Measure with the MEMSIFT_* variables of this file; those of the environment win.",
)
@click.option(
    "--in-sample",
    "in_sample_too",
    is_flag=True,
    help="Report also on sets that the weights or the calibration were fitted on, marked as such.",
)
@click.pass_context
def command(
    context: click.Context,
    *,
    data: Path,
    sets: tuple[str, ...],
    rankers: list[str],
    strategies: list[str],
    price_file: PriceFile | None,
    limit: int | None,
    seed: int,
    concurrency: int,
    html: Path | None,
    run_path: Path | None,
    as_json: bool,
    show_text: bool,
    fit: str | None,
    out: Path | None,
    method: Method,
    settings_path: Path | None,
    in_sample_too: bool,
) -> None:
    """Measure rankers on labelled questions: precision, latency, cost, and what leaves the network.

    Every question goes through the real queue, to the worker at MEMSIFT_REDIS_URL if one is ready there,
    else to a temporary one that serves the asked rankers. The exit code is 1 when a ranker answered nothing.
    """
    if (fit is None) != (out is None) or (fit and html):
        raise click.UsageError("--fit and --out FILE belong together, and make no --html report")
    if fit and strategies:
        raise click.UsageError("--fit learns for the strategy of MEMSIFT_STRATEGY: leave --strategy out")
    rankers = options.named(rankers, strategies)
    context.with_resource(settings_file.applied(settings_path))
    names = questions.chosen(data, sets)
    known = in_sample.among(data, names)
    if fit is None and not in_sample_too:
        in_sample.refuse(known)
    asked = {name: datasets.load(data, name, limit=limit, seed=seed, unanswerable=True) for name in names}
    digests = {name: questions.content_digest(data, name) for name in names}
    if fit in fit_weights.LINEAR and out is not None:
        told = ["eval", "--data", str(data), *(part for name in names for part in ("--set", name))]
        told += ["--fit", fit, "--out", str(out), "--seed", str(seed)]
        told += ["--limit", str(limit)] if limit else []
        fit_weights.run(
            fit, asked, digests, out=out, seed=seed, command=told, now=datetime.now(UTC), as_json=as_json
        )
        return
    arguments = {"rankers": rankers, "limit": limit, "seed": seed, "concurrency": concurrency}
    wanted = {
        **arguments,
        "sets": list(asked),
        "data": questions.digest(data, list(asked)),
        "settings": worker.relevant_settings(),
    }
    with RunFile(run_path, fingerprint(wanted), reasons=show_text) as run:
        running.complete(run, asked, rankers, concurrency=concurrency)
    if out is not None:
        fit_calibration.run(
            asked, rankers, run.outcomes, digests, out=out, method=method, seed=seed, as_json=as_json
        )
        return
    found = running.reported(run, asked, rankers, arguments, price_file)
    found["in_sample"] = known
    in_sample.mark(found["sets"], known)
    if html is not None:
        cases = bad_cases.collect(asked, rankers, run.outcomes, show_text=show_text)
        settings_file.write_text(html, report.page(found, run.outcomes, cases))
    if as_json:
        console.print_json(found)
    else:
        telling.tell(found["sets"], found["prices"])
    telling.judge(found["sets"])
