"""Which conversations a benchmark plays: our own, or those of evaluation sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from memsift_ops.evaluation import questions

F = TypeVar("F", bound=Callable[..., Any])


def data(command: F) -> F:
    """The options `--data` and `--set`."""
    folder = click.option(
        "--data",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Folder with evaluation sets; without it the two conversations of `memsift demo` are played.",
    )
    sets = click.option(
        "--set", "sets", multiple=True, help="A set of that folder; more than once for several."
    )
    return folder(sets(command))


def chosen(folder: Path | None, sets: Sequence[str]) -> list[str]:
    """The names of the sets; none without a folder.

    Raises:
        InvalidInput: see `datasets.measurable`.
        UsageError: a set is named and no folder, or the folder has none.
    """
    if folder is not None:
        return questions.chosen(folder, sets)
    if sets:
        raise click.UsageError("--set names a set of a folder: give --data too")
    return []
