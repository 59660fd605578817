"""`memsift top`."""

from __future__ import annotations

import json
from collections.abc import Callable

import click
from rich.console import RenderableType
from rich.live import Live
from rich.text import Text

from memsift_ops import console, status
from memsift_ops.errors import Failure
from memsift_ops.top.frame import Frame, Looks
from memsift_ops.top.keyboard import single_keys, wait
from memsift_ops.top.screen import Screen
from memsift_schemas import settings as settings_module
from memsift_schemas.redis_faults import REDIS_FAULTS
from memsift_schemas.settings import ProducerSettings


@click.command("top")
@click.option("--once", is_flag=True, help="Show one look and end.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, one for each look.")
@click.option(
    "--interval",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0.1, 3600),
    help="Seconds between looks.",
)
def command(interval: float, *, once: bool, as_json: bool) -> None:
    """Watch the queue, the breaker and the workers: load, batches, latency, causes, cache, pauses.

    It reads what workers say of themselves on Redis once a second; no other service is needed. q or Ctrl-C
    ends it. Where the output is no terminal, each look is printed below the last one.

    "of" is what a worker gets done when it is full, "ranks" how many jobs its rankers have and may have,
    "lost" the share of its jobs that fell back since its start.
    """
    look = _look()
    if once:
        frame = look()
        if isinstance(frame, Failure):
            raise frame
        _print(frame, Screen(), as_json=as_json)
        return
    try:
        if as_json or not console.stdout().is_terminal:
            _print_on(look, interval, as_json=as_json)
        else:
            _live(look, interval)
    except KeyboardInterrupt:
        return


def _look() -> Callable[[], Frame | Failure]:
    """What looks once; Redis may be away for a while."""
    settings = settings_module.load(ProducerSettings)
    looks = Looks()

    def look() -> Frame | Failure:
        try:
            found = status.read_as(settings)
        except REDIS_FAULTS as fault:
            kind = type(fault).__name__
            return Failure(f"Redis does not answer ({kind}): check MEMSIFT_REDIS_URL and the server")
        return looks.frame(found)

    return look


def _live(look: Callable[[], Frame | Failure], interval: float) -> None:
    screen = Screen()
    with (
        single_keys() as keys,
        Live(console=console.stdout(), screen=True, auto_refresh=False, vertical_overflow="crop") as live,
    ):
        while True:
            live.update(_drawn(look(), screen, keys=True), refresh=True)
            if wait(interval, keys=keys):
                return


def _print_on(look: Callable[[], Frame | Failure], interval: float, *, as_json: bool) -> None:
    screen = Screen()
    while True:
        _print(look(), screen, as_json=as_json)
        wait(interval, keys=False)


def _print(found: Frame | Failure, screen: Screen, *, as_json: bool) -> None:
    if as_json:
        told = {"error": found.message} if isinstance(found, Failure) else found.as_json()
        click.echo(json.dumps(told, ensure_ascii=False, allow_nan=False))
    else:
        console.stdout().print(_drawn(found, screen))


def _drawn(found: Frame | Failure, screen: Screen, *, keys: bool = False) -> RenderableType:
    if isinstance(found, Failure):
        return Text(found.message, style="bold red")
    return screen.draw(found, keys=keys)
