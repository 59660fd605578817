"""`memsift ui`."""

from __future__ import annotations

import contextlib
import os
import sys
import webbrowser
from collections.abc import Iterator, Mapping

import click

from memsift_ops import console, environment, services
from memsift_ops.commands.demo import CHAIN
from memsift_ops.commands.gateway import PORT
from memsift_ops.commands.up import free
from memsift_ops.local import temporary
from memsift_ops.stack import Stack
from memsift_schemas import redis_urls, settings
from memsift_schemas.settings import ProducerSettings

PAGE = {"MEMSIFT_GATEWAY_UI": "1"}
# A stack of our own serves two rankers beside the demo's, to compare, and has time for a model on a CPU,
# whose first answer reads thousands of tokens.
RANKERS = {**CHAIN, "MEMSIFT_ALSO_SERVE": "jev,local"}
PATIENCE = {"MEMSIFT_DEADLINE_MS": "60000", "MEMSIFT_GATEWAY_MAX_DEADLINE_MS": "60000"}
REDIS = "MEMSIFT_REDIS_URL"


@click.command("ui")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    callback=free,
    help=f"The page's port on 127.0.0.1.  [default: {PORT}, or any free one]",
)
@click.option(
    "--open/--no-open",
    "opens",
    default=None,
    help="Whether to open the page in a browser.  [default: where there is a desktop]",
)
def command(port: int | None, *, opens: bool | None) -> None:
    """Look at rankings in a browser: memories before and after, signals, times, two rankers side by side.

    Where MEMSIFT_REDIS_URL is set, questions go to the workers there. Else Valkey and a worker with the
    embedded engine are started on this machine, as `memsift up` does. The page serves this machine alone, and
    keeps nothing.

    One Ctrl-C (or SIGTERM) stops all of it, with exit code 0.
    """
    with contextlib.suppress(KeyboardInterrupt), _stack() as stack:
        with console.waiting("starting the gateway"), environment.variables(PAGE):
            url = f"{stack.start_gateway(port or PORT)}/ui/"
        click.echo(f"the page: {url}  (Ctrl-C stops everything)")
        if _has_desktop() if opens is None else opens:
            webbrowser.open(url)
        stack.wait()


@contextlib.contextmanager
def _stack() -> Iterator[Stack]:
    """A stack without a gateway: on the server that is configured, or with one of its own."""
    if REDIS in os.environ:
        told = settings.load(ProducerSettings)
        workers = services.ready_workers(told.redis_url, told.queue)
        where = f"queue {told.queue} on {redis_urls.shown(told.redis_url)}"
        click.echo(f"connects to {where}: {_crew(workers)}", err=True)
        with Stack(told.queue, redis_url=told.redis_url) as stack:
            yield stack
        return
    click.echo(f"{REDIS} is not set: starting Valkey and a worker of our own", err=True)
    with environment.variables(_unset(RANKERS | PATIENCE)), temporary() as answering:
        assert answering.stack is not None
        click.echo(_crew([answering.worker]), err=True)
        yield answering.stack


def _crew(workers: list[services.WorkerInfo]) -> str:
    if not workers:
        return "no worker is ready there, so the prefilter will answer; start one with `memsift worker`"
    what = ", ".join(sorted({f"{one.ranker} on {one.model}" for one in workers}))
    return f"{len(workers)} ready worker{'s' if len(workers) > 1 else ''} ({what})"


def _unset(wanted: Mapping[str, str]) -> dict[str, str]:
    """Those that nobody has set."""
    return {name: value for name, value in wanted.items() if name not in os.environ}


def _has_desktop() -> bool:
    """A terminal's browser would take the terminal."""
    graphic = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    return bool(graphic) and sys.stdout.isatty()
