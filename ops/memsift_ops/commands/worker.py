"""`memsift worker`: the Celery worker command with settings checked first."""

from __future__ import annotations

import os
import re

import click

from memsift_ops import services
from memsift_ops.loglevel import log_level, loglevel_option
from memsift_schemas import settings
from memsift_schemas.settings import WorkerSettings


def _node_name(_context: click.Context, _option: click.Parameter, value: str) -> str:
    # Celery would read "@" and "%" in it in ways of its own.
    if not re.fullmatch(r"[\w.-]+", value):
        raise click.BadParameter("use letters, digits, '.', '_' and '-'")
    return value


@click.command("worker")
@click.option(
    "-n", "--name", default="memsift", show_default=True, callback=_node_name, help="Its name before @HOST."
)
@loglevel_option
def command(name: str, loglevel: str | None) -> None:
    """Run a worker in the foreground.

    It is configured by MEMSIFT_* environment variables. SIGTERM finishes what is in flight and leaves the
    rest in Redis. This becomes the process `celery -A memsift_workers.app worker -P solo`.
    """
    level = log_level(loglevel, settings.load(WorkerSettings))
    argv = services.worker_command(name, level)
    os.execv(argv[0], argv)
