"""The size of the base install: what a frontend gets."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from memsift_ops.errors import Failure

# Where this code lies, if it lies in a source tree.
ROOT = Path(__file__).parents[3]


def source_tree() -> Path | None:
    """The folder that can be installed; None where memsift was installed from a wheel."""
    return ROOT if (ROOT / "pyproject.toml").exists() else None


def megabytes() -> dict[str, float]:
    """Megabytes of the base install: the wheels as they are downloaded, and the files as they lie.

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
        _pip("--python", str(home / "bin" / "python"), "install", "--no-compile", str(tree))
        (site,) = home.glob("lib/python*/site-packages")
        return {"download_mb": _size(wheels), "installed_mb": _size(site)}


def _pip(*arguments: str) -> None:
    command = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments)
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise Failure("pip could not do it", log=ended.stderr.strip().splitlines()[-5:])


def _size(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
