"""The server's own virtual environment, made once and kept in the user's cache folder.

It is apart from the tests' environment because SGLang pins its packages exactly. With
the weights 1.6 GB; 60-80 s on two busy cores with packages from a near index.

torch comes first and with its dependencies, from wherever pip is set up to look (`PIP_INDEX_URL`,
`PIP_EXTRA_INDEX_URL`, `PIP_FIND_LINKS`). A CPU build is enough. On Linux the default index has the CUDA
build, which works too and is some 3 GB larger.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SHIMS = HERE / "shims"
REQUIREMENTS = HERE / "requirements.txt"
WEIGHTS = HERE / "weights.txt"
TORCH = "torch==2.13.0"
# Compiling all of it to bytecode doubles the time; what is imported is compiled at the first start.
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input", "-qq")


@dataclass(frozen=True)
class Environment:
    """A folder with everything that the server needs.

    Attributes:
        home: holds `venv`, the weights and the server's logs.
    """

    home: Path

    @property
    def python(self) -> Path:
        """The interpreter that has SGLang."""
        return self.home / "venv" / "bin" / "python"

    def variables(self) -> dict[str, str]:
        """Environment variables for a child process of this interpreter; the shims are seen there alone."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return inherited | {
            "PYTHONPATH": str(SHIMS),
            "PYTHONUNBUFFERED": "1",
            "SGLANG_USE_CPU_ENGINE": "1",
            "HF_HUB_OFFLINE": "1",
            "TQDM_DISABLE": "1",
            # More threads than one wait for each other when the cores are shared with the tests.
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        }


def ensure_environment() -> Environment:
    """Give the environment, after installing it if it is not there or not complete.

    Raises:
        subprocess.CalledProcessError: pip could not install it; its output has been shown.
    """
    environment = Environment(_home())
    with locked(environment.home):
        complete = environment.home / "installed"
        if not complete.exists():
            shutil.rmtree(environment.home / "venv", ignore_errors=True)
            _install(environment)
            complete.touch()
    return environment


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Let one process at a time change what is in `home`."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run_step(what: str, *command: str | Path, env: dict[str, str] | None = None) -> None:
    """Run a command, saying before and after on stderr what it does and how long it took."""
    say(f"{what} ...")
    began = time.monotonic()
    subprocess.run(command, check=True, stdout=sys.stderr, env=env)
    say(f"{what}: done in {time.monotonic() - began:.0f} s")


def say(text: str) -> None:
    """Write a line of progress to stderr."""
    sys.stderr.write(f"sglang-cpu: {text}\n")
    sys.stderr.flush()


def _home() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    version = ".".join(map(str, sys.version_info[:2]))
    content = "\n".join((version, TORCH, REQUIREMENTS.read_text(), WEIGHTS.read_text()))
    return cache / "memsift" / f"sglang-cpu-{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def _install(environment: Environment) -> None:
    say(f"installing SGLang for the CPU into {environment.home} (once, 1.6 GB)")
    python = environment.python
    run_step("virtual environment", sys.executable, "-m", "venv", environment.home / "venv")
    run_step(TORCH, python, *PIP, "install", "--no-compile", TORCH)
    run_step("SGLang", python, *PIP, "install", "--no-compile", "--no-deps", "--requirement", REQUIREMENTS)
