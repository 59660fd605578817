"""Results go to stdout, progress to stderr; tables and spinners only where a person watches."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


def stdout() -> Console:
    """For results."""
    return Console(highlight=False, soft_wrap=False)


def stderr() -> Console:
    """For progress and warnings."""
    return Console(stderr=True, highlight=False)


def drawing(width: int = 108) -> Console:
    """Takes what is printed for `save_svg` and shows nothing."""
    return Console(record=True, force_terminal=True, width=width, file=io.StringIO(), highlight=False)


def save_svg(drawn: Console, path: Path, title: str) -> None:
    """Write what was printed on a `drawing` as an SVG that needs no font or style from elsewhere."""
    # rich's template loads its font from a server; the reader's own monospaced font does as well.
    template = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    template = template.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace")
    drawing = drawn.export_svg(title=title, code_format=template)
    # rich counts a Chinese character as one column there and would squeeze the text to half its width.
    path.write_text(re.sub(r' textLength="[^"]*"', "", drawing), encoding="utf-8")


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
