"""Prometheus with promtool: found, or installed from the system's packages where that is allowed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

PROGRAMS = ("prometheus", "promtool")
REMEDY = (
    "Prometheus and promtool are missing: install the system's package `prometheus` (Debian, Ubuntu: "
    "`apt-get install prometheus`), or put both from https://prometheus.io/download/ into PATH"
)


def missing() -> list[str]:
    """The programs that are not in PATH."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


def provide() -> None:
    """Make sure that the programs are there.

    Raises:
        SystemExit: they are not, and cannot be installed; says what to do.
    """
    if not missing():
        return
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        sys.exit(REMEDY)
    # Its own service is not wanted: the tests start servers of their own.
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    for command in (("update",), ("install", "--no-install-recommends", "--yes", "prometheus")):
        subprocess.run(("apt-get", "-qq", *command), check=True, env=environment, stdout=sys.stderr)
    if missing():
        sys.exit(REMEDY)


if __name__ == "__main__":
    provide()
