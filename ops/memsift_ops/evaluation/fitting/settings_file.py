"""Settings files: `NAME=value` lines, as systemd, docker and honcho read them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dotenv import dotenv_values

from memsift_ops import environment
from memsift_ops.errors import Refused
from memsift_schemas.settings import PREFIX

# Digests of the data sets that settings were fitted on, comma-separated.
FITTED_ON = f"{PREFIX}FITTED_ON"


def write(path: Path, head: Sequence[str], values: Mapping[str, str]) -> None:
    """Write a settings file.

    Args:
        path: the file; replaced if it is there.
        head: lines of a comment.
        values: variables, without line breaks.

    Raises:
        Refused: the file cannot be written.
    """
    lines = [*(f"# {line}" for line in head), *(f"{name}={value}" for name, value in values.items())]
    write_text(path, "\n".join(lines) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file as UTF-8.

    Raises:
        Refused: it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refused(f"cannot write {path}: {error.strerror}") from None


def read(path: Path) -> dict[str, str]:
    """The `MEMSIFT_*` variables of a settings file.

    Raises:
        Refused: it cannot be read, or sets none.
    """
    try:
        found = dotenv_values(path, interpolate=False, encoding="utf-8")
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Refused(f"{path} is not UTF-8") from None
    ours = {name: value for name, value in found.items() if name.startswith(PREFIX) and value is not None}
    if not ours:
        raise Refused(f"{path} sets no {PREFIX}* variable, so it is no settings file of memsift")
    return ours


@contextlib.contextmanager
def applied(path: Path | None) -> Iterator[None]:
    """Put a settings file into the environment; what is set there already wins, and comes back at the end.

    What the environment and the file were fitted on both counts.

    Args:
        path: the file; None changes nothing.

    Raises:
        Refused: see `read`.
    """
    given = {} if path is None else read(path)
    digests = [told for told in (os.environ.get(FITTED_ON), given.get(FITTED_ON)) if told]
    added = {name: value for name, value in given.items() if name not in os.environ}
    if digests:
        added[FITTED_ON] = ",".join(digests)
    with environment.variables(added):
        yield
