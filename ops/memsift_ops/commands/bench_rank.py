"""`memsift bench rank`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from rich.progress import Progress

from memsift_ops import datasets
from memsift_ops.benchmarks import record
from memsift_ops.console import print_json, stderr
from memsift_ops.datasets import Case
from memsift_ops.errors import Failure, Refused
from memsift_ops.evaluation import questions
from memsift_ops.rank_bench.others import Other, Running, others
from memsift_ops.rank_bench.ours import Prefilter, Second
from memsift_ops.rank_bench.ranked import Ranked, Subject
from memsift_ops.rank_bench.summary import numbers
from memsift_ops.stack import Stack
from memsift_ops.weights import ensure_model
from memsift_schemas import settings as settings_module
from memsift_schemas.job import MAX_CANDIDATES
from memsift_schemas.settings import WorkerSettings
from memsift_schemas.settings.producer import KEPT
from memsift_workers.assembly import build_local
from memsift_workers.rankers.clef.ranker import ClefRanker
from memsift_workers.rankers.jev.ranker import JevRanker

PREFILTER, JEV = "prefilter", "jev"
STRATEGIES = ("likelihood", "pointwise", "listwise", "scorecard")
# What only runs as a server, most of it on a GPU, and how to include it.
SERVERS = {
    "sglang": "python -m sglang.launch_server --model-path Qwen/Qwen3-Reranker-0.6B, /v1/rerank",
    "tei": "text-embeddings-router --model-id BAAI/bge-reranker-base, /rerank",
    "infinity": "infinity_emb v2 --model-id mixedbread-ai/mxbai-rerank-xsmall-v1, /rerank",
    "vllm": "vllm serve Qwen/Qwen3-Reranker-0.6B --runner pooling (or MemReranker), /rerank",
}

Maker = Callable[[], Subject]


@click.command("rank")
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    required=True,
    help="Folder with evaluation sets, such as tests/data.",
)
@click.option("--set", "sets", multiple=True, help="A set of that folder; more than once for several.")
@click.option(
    "--limit", default=100, show_default=True, type=click.IntRange(1), help="Questions of each set."
)
@click.option("--ranker", "only", multiple=True, help="Only these.")
@click.option(
    "--cross-encoder", type=click.Path(exists=True, file_okay=False, path_type=Path), help="ONNX weights."
)
@click.option(
    "--flashrank", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Its cache folder."
)
@click.option(
    "--server", "servers", multiple=True, help="NAME=URL of a server with a rerank endpoint; more than once."
)
@click.option("--seed", default=1, show_default=True, help="Of the choice of questions and the intervals.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write everything as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    *,
    data: Path,
    sets: tuple[str, ...],
    limit: int,
    only: tuple[str, ...],
    cross_encoder: Path | None,
    flashrank: Path | None,
    servers: tuple[str, ...],
    seed: int,
    out: Path | None,
    as_json: bool,
) -> int:
    """Compare memsift's rankers with rerankers that a user would take instead, on the same questions.

    Each ranks alone, one question after the other. What cannot run here is named with the reason. Servers on
    other machines (SGLang, text-embeddings-inference, infinity, vLLM) come in by --server NAME=URL.
    """
    names = questions.chosen(data, sets)
    result = record.begun("rank", {"sets": names, "limit": limit, "seed": seed})
    cases = {name: datasets.load(data, name, limit=limit, seed=seed) for name in names}
    with Stack("memsift.bench.rank") as stack:
        makers = _ours(stack.start_valkey()) | _others(
            {"cross-encoder": cross_encoder, "flashrank": flashrank}
        )
        makers |= dict(_server(one) for one in servers)
        unknown = set(only) - makers.keys()
        if unknown:
            raise Refused(f"--ranker {min(unknown)}: known are {', '.join(makers)}")
        chosen = {name: maker for name, maker in makers.items() if not only or name in only}
        found, not_run = _all(chosen, cases)
    told = {one.partition("=")[0] for one in servers}
    if not only:
        not_run |= {
            name: f"no server was named: start `{how}` and add --server {name}=URL"
            for name, how in SERVERS.items()
            if name not in told
        }
    result["sets"] = {
        name: {ranker: numbers(cases[name], answers[name], seed=seed) for ranker, answers in found.items()}
        for name in names
    }
    result["not_run"] = not_run
    result["about"] = {name: one.about for name, one in others().items()}
    result["answers"] = {
        ranker: {name: [[one.ms, one.cpu_ms] for one in each] for name, each in answers.items()}
        for ranker, answers in found.items()
    }
    if out is not None:
        record.write(out, result)
    if as_json:
        print_json({name: value for name, value in result.items() if name != "answers"})
    else:
        _show(result)
    return 0


def _ours(redis_url: str) -> dict[str, Maker]:
    def strategy(name: str) -> Subject:
        ensure_model()
        settings = settings_module.load(WorkerSettings, redis_url=redis_url, strategy=name)
        return Second(build_local(settings), keep=KEPT)

    def jev() -> Subject:
        settings = settings_module.load(WorkerSettings, redis_url=redis_url)
        return Second(JevRanker(settings), keep=MAX_CANDIDATES)

    made: dict[str, Maker] = {PREFILTER: Prefilter, JEV: jev}
    return made | {name: functools.partial(strategy, name) for name in STRATEGIES}


def _others(weights: dict[str, Path | None]) -> dict[str, Maker]:
    def make(other: Other) -> Subject:
        if other.weights and weights.get(other.name) is None:
            raise Failure(f"its weights are not here: {other.weights}")
        return Running(other, weights.get(other.name))

    return {name: functools.partial(make, other) for name, other in others().items()}


def _server(told: str) -> tuple[str, Maker]:
    name, equals, url = told.partition("=")
    if not (name and equals and "://" in url):
        raise Refused(f"--server {told}: must be NAME=URL")

    def make() -> Subject:
        settings = settings_module.load(WorkerSettings, clef_url=url)
        return Second(ClefRanker(settings), keep=MAX_CANDIDATES)

    return name, make


def _all(
    makers: dict[str, Maker], cases: dict[str, list[Case]]
) -> tuple[dict[str, dict[str, list[Ranked]]], dict[str, str]]:
    """Every ranker over every set, and why those that could not run could not."""
    found: dict[str, dict[str, list[Ranked]]] = {}
    not_run: dict[str, str] = {}
    with Progress(console=stderr(), transient=True) as progress:
        task = progress.add_task("", total=len(makers) * sum(map(len, cases.values())))
        for name, make in makers.items():
            progress.update(task, description=name)
            try:
                subject = make()
                try:
                    found[name] = {
                        one: _each(subject, each, lambda: progress.advance(task))
                        for one, each in cases.items()
                    }
                finally:
                    subject.close()
            except Failure as failure:
                found.pop(name, None)
                not_run[name] = failure.format_message()
    return found, not_run


def _each(subject: Subject, cases: Sequence[Case], progress: Callable[[], None]) -> list[Ranked]:
    answers = []
    for case in cases:
        answers.append(subject.rank(case))
        progress()
    return answers


def _show(result: dict[str, Any]) -> None:
    for name, rankers in result["sets"].items():
        click.echo(f"\n{name}")
        click.echo(f"{'':<15}{'MRR':>7}{'95%':>15}{'hit@3':>7}{'p50 ms':>9}{'p95 ms':>9}{'CPU ms':>9}")
        for ranker, one in rankers.items():
            low, high = one["mrr_ci95"]
            click.echo(
                f"{ranker:<15}{one['mrr']:>7.3f}{f'{low:.3f}-{high:.3f}':>15}{one['hit_at_3']:>7.3f}"
                f"{one['p50_ms']:>9.1f}{one['p95_ms']:>9.1f}{one['cpu_ms']:>9.1f}"
            )
    for name, why in result["not_run"].items():
        click.echo(f"{name} was not run: {why}")
