"""The option `-l` of commands that become a server: it beats `MEMSIFT_LOG_LEVEL`, which beats INFO."""

from __future__ import annotations

import os

import click

from memsift_schemas.logs.setup import LEVEL
from memsift_schemas.settings import Settings

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

loglevel_option = click.option(
    "-l",
    "--loglevel",
    type=click.Choice(LEVELS, case_sensitive=False),
    help="What it logs.  [default: MEMSIFT_LOG_LEVEL, or INFO]",
)


def log_level(chosen: str | None, settings: Settings) -> str:
    """The level; one that was chosen is also found by the processes that this one becomes or starts."""
    if chosen:
        os.environ[LEVEL] = chosen.upper()
    return (chosen or settings.log_level or "INFO").upper()
