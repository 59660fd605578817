"""Prometheus with promtool, one Debian package; `python -m tests.monitoring.environment` installs it."""

from __future__ import annotations

from tests import debian

PROGRAMS = ("prometheus", "promtool")
REMEDY = "the monitoring tests need Prometheus and promtool: `make test-monitoring` installs or names them"


def missing() -> list[str]:
    """The programs that are not here."""
    return [name for name in PROGRAMS if debian.executable((name,)) is None]


def provide() -> None:
    """Make sure that the programs are there.

    Raises:
        SystemExit: they are not, and cannot be installed; says what to do.
    """
    for name in PROGRAMS:
        debian.program((name,), "prometheus", f"the monitoring tests need {name}")


if __name__ == "__main__":
    provide()
