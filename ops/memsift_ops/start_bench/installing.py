"""The base install: what a frontend gets, and how large it is."""

from __future__ import annotations

import compileall
import contextlib
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memsift_ops.errors import Failure

# Where this code lies, if it lies in a source tree.
ROOT = Path(__file__).parents[3]


def source_tree() -> Path | None:
    """The folder that can be installed; None where memsift was installed from a wheel."""
    return ROOT if (ROOT / "pyproject.toml").exists() else None


@dataclass(frozen=True, slots=True)
class Base:
    """A new environment that holds the base install alone.

    Attributes:
        python: its interpreter.
        download_mb: of the wheels, megabytes.
        installed_mb: of the files as they lie, without bytecode.
    """

    python: Path
    download_mb: float
    installed_mb: float


@contextlib.contextmanager
def base() -> Iterator[Base]:
    """The base install in a new environment, while it lasts.

    Raises:
        Failure: it cannot be installed here.
    """
    tree = source_tree()
    if tree is None:
        raise Failure("the base install is measured from a source tree")
    with tempfile.TemporaryDirectory() as folder:
        wheels, home = Path(folder) / "wheels", Path(folder) / "venv"
        _pip("download", "--dest", str(wheels), str(tree))
        venv.create(home, with_pip=False)
        python = home / "bin" / "python"
        _pip("--python", str(python), "install", "--no-compile", str(tree))
        (site,) = home.glob("lib/python*/site-packages")
        size = _size(site)
        # As pip does unless it is told not to.
        compileall.compile_dir(site, quiet=2)
        yield Base(python, _size(wheels), size)


def _pip(*arguments: str) -> None:
    command = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments)
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise Failure("pip could not do it", log=ended.stderr.strip().splitlines()[-5:])


def _size(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
