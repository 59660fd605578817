"""Writes the two files of a set, readable by their owner alone: they hold what users told."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memsift_ops.datasets import MEMORIES, QUERIES
from memsift_ops.errors import Refused
from memsift_ops.own_logs.assembling import Assembled


def paths(folder: Path, name: str) -> tuple[Path, Path]:
    """Where the questions and the memories of a set are."""
    return folder / f"{name}{QUERIES}", folder / f"{name}{MEMORIES}"


def write(folder: Path, name: str, found: Assembled, *, force: bool) -> tuple[Path, Path]:
    """Write a set with mode 0600; a file is there whole or not at all.

    Args:
        folder: is made if it is missing.
        name: of the set.
        found: what to write.
        force: replace a set that is there.

    Raises:
        Refused: the set is there, or cannot be written.
    """
    queries, memories = paths(folder, name)
    for path in (queries, memories):
        if path.exists() and not force:
            raise Refused(f"{path} is there already: name another set, or give --force to replace it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # The memories first: questions without them would look like a set.
        _replace(memories, found.memories)
        _replace(queries, found.queries)
    except OSError as error:
        raise Refused(f"cannot write into {folder}: {error.strerror}") from None
    return queries, memories


def _replace(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    # mkstemp makes it with mode 0600.
    number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(number, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
