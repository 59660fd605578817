"""`memsift demo`."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click
from rich.console import Console

from memsift_ops import console, show
from memsift_ops.errors import Failure
from memsift_ops.local import Answering, temporary
from memsift_ops.played import Played, play
from memsift_ops.scene import NAMES, Scene, load
from memsift_producer import Reranker
from memsift_schemas.result import Source

# A CPU answers, and its first answer reads some 6,000 tokens: 2-5 s on two cores with bf16 instructions.
DEADLINE_S = 60.0
# All that recall found reaches the model, but for near-duplicates: the questions of these short
# conversations are about different things, and keeping 20 of 50 would leave out what answers the first.
PREFILTER_KEEP = 50
# The story is about what is on today, and a model of this size knows no dates: `jev` does. All that it has
# ranked goes on to the model, so that each memory's prompt is reused at the next question.
CHAIN = {"MEMSIFT_RANKER": "jev>local", "MEMSIFT_CASCADE_KEEP": str(PREFILTER_KEEP)}


@click.command("demo")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), help="Also draw it into this file.")
@click.option("--scene", type=click.Choice(NAMES), multiple=True, help="Play this one alone.")
def command(*, as_json: bool, svg: Path | None, scene: tuple[str, ...]) -> None:
    """Play two conversations through Redis and a real model.

    Fetches the model if it is absent, starts Valkey and a worker on free ports of this machine, asks each
    question as a chat frontend would, and stops everything at the end. Exit code 1 when a ranking did not
    come from the model.
    """
    for name, value in CHAIN.items():
        os.environ.setdefault(name, value)
    scenes = [load(name) for name in scene or NAMES]
    drawn = console.drawing() if svg else None
    outs = [out for out in (None if as_json else console.stdout(), drawn) if out is not None]
    with temporary() as answering:
        info = answering.worker
        for out in outs:
            out.print(f"runtime {info.runtime}, model {info.model}, strategy {info.strategy}. {show.LEGEND}")
        played = asyncio.run(_play_all(scenes, answering, outs))
    if drawn is not None and svg is not None:
        console.save_svg(drawn, svg, "memsift demo")
    if as_json:
        head = {"runtime": info.runtime, "model": info.model, "strategy": info.strategy}
        console.print_json({**head, "turns": [turn.as_json() for turn in played]})
    _judge(played)


async def _play_all(scenes: list[Scene], answering: Answering, outs: list[Console]) -> list[Played]:
    played: list[Played] = []
    url, queue = answering.redis_url, answering.queue
    async with Reranker.from_url(url, queue=queue, prefilter_keep=PREFILTER_KEEP) as reranker:
        for scene in scenes:
            for out in outs:
                show.print_scene(out, scene)
            async for turn in play(scene, reranker, deadline=DEADLINE_S, waiting=console.waiting):
                played.append(turn)
                for out in outs:
                    show.print_turn(out, turn)
                answering.check()
    return played


def _judge(played: list[Played]) -> None:
    fallen = [turn for turn in played if turn.reranking.source is not Source.MODEL]
    if fallen:
        causes = ", ".join(sorted({str(turn.reranking.cause) for turn in fallen}))
        raise Failure(f"{len(fallen)} of {len(played)} rankings came from the prefilter ({causes})")
    later = [turn.cached_share for turn in played if turn.turn > 1]
    console.stderr().print(
        f"\nAll {len(played)} rankings came from the model. From a session's second turn on, "
        f"{min(later):.0%} to {max(later):.0%} of the prompt tokens came from the cache."
    )
