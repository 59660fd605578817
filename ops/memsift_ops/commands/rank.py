"""`memsift rank`: one file, or a data set."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import click

from memsift_ops import console, request, show
from memsift_ops.commands.rank_data import rank_data
from memsift_ops.local import running_or_temporary
from memsift_ops.request import BadRequest, Fault
from memsift_producer import Reranker, Reranking
from memsift_schemas.errors import InvalidInput
from memsift_schemas.job import RerankJob
from memsift_schemas.result import Source

BAD_INPUT = 2


@click.command("rank")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder of sets.")
@click.option("--set", "sets", multiple=True, help="A set in --data; give it again for more.")
@click.option("--limit", type=click.IntRange(1), help="Queries of each set.  [default: all]")
@click.option("--seed", default=1, show_default=True, help="Which queries --limit takes.")
@click.option(
    "--deadline",
    default=20.0,
    show_default=True,
    type=click.FloatRange(0, 600, min_open=True),
    help="Seconds that FILE's question may take.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def command(
    file: str | None,
    data: Path | None,
    sets: tuple[str, ...],
    limit: int | None,
    seed: int,
    deadline: float,
    *,
    as_json: bool,
) -> None:
    """Rank the memories of FILE ("-" is stdin), or measure on a data set.

    FILE holds {"query", "memories": [{"id", "text", "created_at", "similarity"?, "kind"?}], "turns"?,
    "activity"?, "user"?, "session"?, "top_k"?, "now"?}. Every fault in it is one line on stderr, and the
    exit code is 2.

    With --data and --set, labelled queries go through the queue, and prefilter and model are compared by
    hit@3, MRR, R@5 and P@1. The exit code is 1 when the model did not answer every query.

    Uses the worker at MEMSIFT_REDIS_URL if one is ready there, else a temporary stack.
    """
    if (file is None) == (data is None):
        raise click.UsageError("give either FILE or --data DIR with --set NAME")
    if data is not None:
        rank_data(data, sets, limit=limit, seed=seed, as_json=as_json)
        return
    try:
        _rank_file(request.read(_bytes(file)), deadline=deadline, as_json=as_json)
    except BadRequest as error:
        _refuse(error.faults, as_json=as_json)
    except InvalidInput as error:
        # What shows only when the job is built, such as its size.
        _refuse([Fault("file", str(error))], as_json=as_json)


def _bytes(file: str | None) -> bytes:
    return sys.stdin.buffer.read() if file in (None, "-") else Path(str(file)).read_bytes()


def _rank_file(job: RerankJob, *, deadline: float, as_json: bool) -> None:
    with running_or_temporary() as answering:
        with console.waiting("waiting for the answer"):
            reranking = asyncio.run(_ask(job, answering.redis_url, answering.queue, deadline))
        answering.check()
    if as_json:
        console.print_json(reranking.result.model_dump(mode="json"))
    else:
        show.print_ranking(console.stdout(), job, reranking.result)
    if reranking.source is Source.PREFILTER:
        console.stderr().print(f"The prefilter answered, because: {reranking.cause}")


async def _ask(job: RerankJob, url: str, queue: str, deadline: float) -> Reranking:
    async with Reranker.from_url(url, queue=queue) as reranker:
        return await reranker.rerank(
            query=job.query,
            memories=job.candidates,
            user=job.user,
            session=job.session,
            turns=job.turns,
            activity=job.activity,
            top_k=job.top_k,
            deadline=deadline,
            now=job.now,
        )


def _refuse(faults: list[Fault], *, as_json: bool) -> None:
    for fault in faults:
        click.echo(f"memsift: {fault}", err=True)
    if as_json:
        told: list[dict[str, Any]] = [
            {"place": fault.place, "problem": fault.problem, "remedy": fault.remedy} for fault in faults
        ]
        console.print_json({"error": {"kind": "invalid_input", "faults": told}})
    click.get_current_context().exit(BAD_INPUT)
