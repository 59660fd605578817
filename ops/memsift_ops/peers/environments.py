"""The peers' virtual environments: made once, kept in the cache folder, apart because their pins conflict."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from memsift_ops.errors import Failure
from memsift_workers.models.folders import cache_dir

# What is imported is compiled at the first start; compiling everything takes as long as the rest.
_PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet")
_SHOWN = 5


def home(name: str, packages: Sequence[str]) -> Path:
    """Where the environment with just these packages is, or will be."""
    # One's own interpreter for all: one that was built without profiling takes a quarter more time.
    interpreter = f"{sys.version} {sys.base_prefix}"
    digest = hashlib.sha256("\n".join((interpreter, *packages)).encode()).hexdigest()[:12]
    return cache_dir() / "peers" / f"{name}-{digest}"


def is_there(name: str, packages: Sequence[str]) -> bool:
    """Whether it need not be installed any more."""
    return (home(name, packages) / "installed").exists()


def python(name: str, packages: Sequence[str]) -> Path:
    """The interpreter that has these packages, after installing them if need be.

    Raises:
        Failure: pip could not install them; shows what it said.
    """
    folder = home(name, packages)
    interpreter = folder / "bin" / "python"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        # Of two runs at once, one installs.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_there(name, packages):
            shutil.rmtree(folder, ignore_errors=True)
            # Our own pip serves all: unpacking one for each takes as long as what it installs.
            venv.create(folder, with_pip=not _has_pip())
            _install(name, interpreter, packages)
            (folder / "installed").touch()
    return interpreter


def _install(name: str, interpreter: Path, packages: Sequence[str]) -> None:
    ours = (sys.executable, *_PIP, "--python", str(interpreter))
    command = ours if _has_pip() else (str(interpreter), *_PIP)
    install = ("install", "--no-compile", "--no-deps", *packages)
    ended = subprocess.run((*command, *install), capture_output=True, text=True, check=False)
    if ended.returncode:
        log = ended.stderr.strip().splitlines()[-_SHOWN:]
        raise Failure(f"{name} could not be installed from PyPI: is there a network?", log=log)


def _has_pip() -> bool:
    return importlib.util.find_spec("pip") is not None
