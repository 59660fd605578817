"""The browser of the tests, Debian's Chromium; `python -m tests.browser.environment` installs it."""

from __future__ import annotations

import sys

from tests import debian

# Debian's, then what others call it.
NAMES = ("chromium", "chromium-browser", "google-chrome")


def install() -> str:
    """The browser, after installing it if it is not here.

    Raises:
        SystemExit: it is not here and cannot be installed from here; tells what to do.
    """
    return debian.program(NAMES, "chromium", "the browser tests need Chromium")


if __name__ == "__main__":
    sys.stderr.write(f"browser: {install()}\n")
