"""Results go to stdout, progress to stderr; tables and spinners only where a person watches."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


def stdout() -> Console:
    """For results."""
    return Console(highlight=False, soft_wrap=False)


def stderr() -> Console:
    """For progress and warnings."""
    return Console(stderr=True, highlight=False)


def print_json(data: Any) -> None:
    """One JSON document on stdout, readable by people and by `json.loads`."""
    click.echo(json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False))


@contextlib.contextmanager
def waiting(what: str) -> Iterator[Callable[[str], None]]:
    """Show on stderr what is being waited for.

    On a terminal a spinner with the seconds, which goes away; else one line for each thing.

    Args:
        what: such as "starting Valkey".

    Yields:
        Tells that something else is now being waited for.
    """
    console = stderr()
    if not console.is_terminal:
        _say(what)
        yield _say
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(escape(what), total=None)
        yield lambda now: progress.update(task, description=escape(now))


def _say(what: str) -> None:
    click.echo(what, err=True)
