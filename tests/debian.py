"""Programs of the operating system that tests need: found, or installed where apt-get may."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys


def program(names: tuple[str, ...], package: str, what: str) -> str:
    """A program's path, after installing its package if it is not here.

    Args:
        names: under which it may be on PATH, the first that is.
        package: Debian's name for it.
        what: that needs it, for the remedy.

    Raises:
        SystemExit: it is not here and cannot be installed from here; tells what to do.
    """
    if (found := executable(names)) is not None:
        return found
    remedy = (
        f"{what}: `apt-get install {package}` as root, or your system's package of it, so that one of "
        f"{', '.join(names)} is on PATH"
    )
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        raise SystemExit(remedy)
    # A package that starts a service here would take a port.
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    for step in (("update", "-qq"), ("install", "-qq", "--no-install-recommends", package)):
        wait = ("-o", "DPkg::Lock::Timeout=300")
        done = subprocess.run((apt, "-y", *wait, *step), env=environment, stdout=sys.stderr, check=False)
        if done.returncode:
            raise SystemExit(f"`apt-get {step[0]}` failed: {remedy}")
    if (found := executable(names)) is None:
        raise SystemExit(remedy)
    return found


def executable(names: tuple[str, ...]) -> str | None:
    """The first of these programs that is on this machine."""
    # Debian's servers are in /usr/sbin, which users do not have on their PATH.
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"
    return next((found for name in names if (found := shutil.which(name, path=path))), None)
