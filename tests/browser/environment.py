"""The browser of the tests, Debian's Chromium; `python -m tests.browser.environment` installs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

PACKAGE = "chromium"
# Debian's, then what others call it.
NAMES = ("chromium", "chromium-browser", "google-chrome")
REMEDY = (
    f"the browser tests need Chromium: `apt-get install {PACKAGE}` as root, or your system's package of it, "
    f"so that one of {', '.join(NAMES)} is on PATH"
)


def executable() -> str | None:
    """The browser on this machine, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def install() -> str:
    """The browser, after installing it if it is not here.

    Raises:
        SystemExit: it is not here and cannot be installed from here; tells what to do.
    """
    if (found := executable()) is not None:
        return found
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        raise SystemExit(REMEDY)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (("update", "-qq"), ("install", "-qq", "--no-install-recommends", PACKAGE)):
        done = subprocess.run((apt, "-y", *step), env=environment, stdout=sys.stderr, check=False)
        if done.returncode:
            raise SystemExit(f"`apt-get {step[0]}` failed: {REMEDY}")
    if (found := executable()) is None:
        raise SystemExit(REMEDY)
    return found


if __name__ == "__main__":
    sys.stderr.write(f"browser: {install()}\n")
