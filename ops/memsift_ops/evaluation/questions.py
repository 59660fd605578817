"""Which sets an evaluation asks, and whether they are still the same when it is continued."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import click

from memsift_ops import datasets
from memsift_ops.datasets import QUERIES, memories_path


def chosen(folder: Path, sets: Sequence[str]) -> list[str]:
    """The sets to measure: those that were named, each once, or all that can be.

    Raises:
        InvalidInput: see `datasets.measurable`.
        UsageError: none is named and none is there.
    """
    names = list(dict.fromkeys(sets)) or datasets.measurable(folder)
    if not names:
        raise click.UsageError(f"no set with labelled queries in {folder}")
    return names


def digest(folder: Path, names: Sequence[str]) -> str:
    """SHA-256 over the files of these sets: a continued run must go on with the same data."""
    found = hashlib.sha256()
    for name in names:
        found.update(name.encode() + b"\0" + bytes.fromhex(content_digest(folder, name)))
    return found.hexdigest()


def content_digest(folder: Path, name: str) -> str:
    """SHA-256 that tells a set by what is in its two files, whatever their names and places."""
    found = hashlib.sha256()
    for path in (folder / f"{name}{QUERIES}", memories_path(folder, name)):
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()
