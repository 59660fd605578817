"""`memsift bench batch`."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.progress import Progress

from memsift_ops.batch_bench import advice, sizes, windows
from memsift_ops.batch_bench.questions import Users
from memsift_ops.benchmarks import record
from memsift_ops.console import print_json, stderr, waiting
from memsift_ops.errors import Failure
from memsift_ops.stack import Stack
from memsift_ops.weights import ensure_model
from memsift_schemas import settings as settings_module
from memsift_schemas.settings import WorkerSettings
from memsift_schemas.settings.producer import KEPT
from memsift_workers.assembly import build_local
from memsift_workers.runtimes.base import RuntimeFault

SIZES = (1, 4, 8, 16, 24)
WINDOWS_MS = (0.0, 2.0, 8.0, 20.0)
# Of the most that the engine does: a load at which batches form and nothing piles up for ever.
LOAD = 0.6


@click.command("batch")
@click.option(
    "--rounds", default=20, show_default=True, type=click.IntRange(1, 1000), help="Batches of each size."
)
@click.option(
    "--keep", default=KEPT, show_default=True, type=click.IntRange(1, 200), help="Memories of a job."
)
@click.option(
    "--seconds",
    default=20.0,
    show_default=True,
    type=click.FloatRange(0, 600),
    help="Of each window; 0 leaves the windows out.",
)
@click.option(
    "--deadline-ms",
    default=400.0,
    show_default=True,
    type=click.FloatRange(1),
    help="That batches are to fit in.",
)
@click.option("--seed", default=1, show_default=True, help="Of the arrivals.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write everything as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    *, rounds: int, keep: int, seconds: float, deadline_ms: float, seed: int, out: Path | None, as_json: bool
) -> int:
    """Measure micro-batches on the real engine beside one job at a time, and recommend settings.

    The engine and how it is asked are those of the worker's settings (MEMSIFT_RUNTIME, MEMSIFT_SGLANG_URL,
    MEMSIFT_MODEL, MEMSIFT_STRATEGY). Users' memories are in the cache, their questions are new. Nobody else
    may use the engine meanwhile.
    """
    ensure_model()
    told = settings_module.load(WorkerSettings)
    asked = {
        "rounds": rounds,
        "keep": keep,
        "seconds": seconds,
        "deadline_ms": deadline_ms,
        "seed": seed,
        "runtime": told.runtime,
        "strategy": told.strategy,
    }
    result = record.begun("batch", asked)
    users = Users(keep)
    with Progress(console=stderr(), transient=True) as progress:
        task = progress.add_task("batches", total=rounds * len(SIZES))
        timed, model = asyncio.run(_timed(users, rounds, lambda: progress.advance(task)))
    found = advice.by_size(timed)
    best = advice.batch_max(found, deadline_ms)
    result |= {"model": model, "sizes": found, "batches": [dataclasses.asdict(one) for one in timed]}
    advised: dict[str, Any] = {"MEMSIFT_BATCH_MAX": best}
    if seconds:
        rate = LOAD * found[str(best)]["jobs_per_s"]
        waited = _waited(users, batch_max=best, rate=rate, seconds=seconds, seed=seed)
        advised["MEMSIFT_BATCH_WAIT_MS"] = advice.wait_ms(waited)
        result["windows"] = [{**one.numbers(), "ms": list(one.ms)} for one in waited]
    result["recommended"] = advised
    if out is not None:
        record.write(out, result)
    if as_json:
        print_json({name: value for name, value in result.items() if name != "batches"})
    else:
        _show(result)
    return 0


async def _timed(users: Users, rounds: int, progress: Callable[[], None]) -> tuple[list[sizes.Timed], str]:
    with Stack("memsift.bench.batch") as stack:
        settings = settings_module.load(WorkerSettings, redis_url=stack.start_valkey())
        ranker = build_local(settings)
        try:
            with waiting("loading the model"):
                await ranker.start()
            return await sizes.measure(ranker, users, SIZES, rounds=rounds, progress=progress), ranker.model
        except RuntimeFault as fault:
            raise Failure(str(fault)) from None
        finally:
            await ranker.close()


def _waited(users: Users, *, batch_max: int, rate: float, seconds: float, seed: int) -> list[windows.Waited]:
    with waiting(f"{rate:.1f} calls/s, window by window") as said:
        found = []
        for wait_ms in WINDOWS_MS:
            said(f"{rate:.1f} calls/s, window {wait_ms:g} ms")
            one = windows.measure(
                users, max(SIZES), wait_ms=wait_ms, batch_max=batch_max, rate=rate, seconds=seconds, seed=seed
            )
            if not one.ms:
                raise Failure("no call was answered by the model: see `memsift status`")
            found.append(one)
        return found


def _show(result: dict[str, Any]) -> None:
    asked = result["arguments"]
    click.echo(f"{asked['runtime']}, {result['model']}, {asked['strategy']}, {asked['keep']} memories a job")
    click.echo(f"{'batch of':>9}{'ms':>9}{'jobs/s':>9}{'gain':>7}{'wait':>7}")
    for size, one in result["sizes"].items():
        told = f"{one['batch_ms']:>9.1f}{one['jobs_per_s']:>9.1f}{one['gain']:>6.1f}x{one['wait']:>6.1f}x"
        click.echo(f"{size:>9}{told}")
    for one in result.get("windows", ()):
        times = " / ".join(f"{one[f'p{share}_ms']:.0f}" for share in (50, 95, 99))
        click.echo(f"window {one['wait_ms']:g} ms at {one['rate']:.1f} calls/s: p50 / p95 / p99 {times} ms")
    for name, value in result["recommended"].items():
        click.echo(f"{name}={value:g}")
