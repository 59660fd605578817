"""`memsift worker`: the Celery worker command with settings checked first."""

from __future__ import annotations

import os
import re

import click

from memsift_ops import services
from memsift_schemas import settings
from memsift_schemas.settings import WorkerSettings

LOGLEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def _node_name(_context: click.Context, _option: click.Parameter, value: str) -> str:
    # Celery would read "@" and "%" in it in ways of its own.
    if not re.fullmatch(r"[\w.-]+", value):
        raise click.BadParameter("use letters, digits, '.', '_' and '-'")
    return value


@click.command("worker")
@click.option(
    "-n", "--name", default="memsift", show_default=True, callback=_node_name, help="Its name before @HOST."
)
@click.option(
    "-l", "--loglevel", default="INFO", show_default=True, type=click.Choice(LOGLEVELS, case_sensitive=False)
)
def command(name: str, loglevel: str) -> None:
    """Run a worker in the foreground.

    It is configured by MEMSIFT_* environment variables. SIGTERM finishes what is in flight and leaves the
    rest in Redis. This becomes the process `celery -A memsift_workers.app worker -P solo`.
    """
    settings.load(WorkerSettings)
    argv = services.worker_command(name, loglevel.upper())
    os.execv(argv[0], argv)
