"""The clients' own virtual environments, made once and kept in the user's cache folder: 0.8 GB.

They are apart from the tests' environment because their packages would hold ours back.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.sglang_cpu.environment import locked

HERE = Path(__file__).parent
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input", "-qq")
# All clients together, and the newest cohere alone.
ALL, NEWEST_COHERE = HERE / "requirements.txt", HERE / "newest_cohere.txt"


def python(requirements: Path) -> Path:
    """The interpreter that has these packages, after installing them if they are not there.

    Raises:
        subprocess.CalledProcessError: pip could not install them; its output has been shown.
    """
    home = _home(requirements)
    interpreter = home / "venv" / "bin" / "python"
    with locked(home):
        complete = home / "installed"
        if not complete.exists():
            shutil.rmtree(home / "venv", ignore_errors=True)
            began = time.monotonic()
            subprocess.run((sys.executable, "-m", "venv", home / "venv"), check=True)
            # What is imported is compiled at the first start; all of it takes as long as the rest.
            install = ("install", "--no-compile", "--no-deps", "--requirement", requirements)
            subprocess.run((interpreter, *PIP, *install), check=True, stdout=sys.stderr)
            sys.stderr.write(f"clients: {requirements.name} in {time.monotonic() - began:.0f} s\n")
            complete.touch()
    return interpreter


def _home(requirements: Path) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    version = ".".join(map(str, sys.version_info[:2]))
    digest = hashlib.sha256((version + requirements.read_text()).encode()).hexdigest()[:12]
    return cache / "memsift" / f"clients-{digest}"


if __name__ == "__main__":
    for each in (ALL, NEWEST_COHERE):
        python(each)
