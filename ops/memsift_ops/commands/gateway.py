"""`memsift gateway`."""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
from collections.abc import Iterator

import click
import uvicorn

from memsift_ops.errors import Refused
from memsift_ops.listening import check_free
from memsift_ops.loglevel import log_level, loglevel_option
from memsift_producer.gateway import access, keys
from memsift_producer.gateway.ui import fence
from memsift_schemas import settings
from memsift_schemas.metrics.instruments import SHARED_DIRECTORY, is_shared
from memsift_schemas.settings import GatewaySettings

PORT = 8010
APP = "memsift_ops.gateway_app:application"
# Clients keep a connection for 5 s (httpx) or longer; one that we close first fails their next call.
KEEP_ALIVE_S = 75


@click.group("gateway", invoke_without_command=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(1, 65535))
@click.option(
    "--workers",
    default=1,
    show_default=True,
    type=click.IntRange(1, 64),
    help="Processes; each has its own two connections to Redis and counts its own rate limits.",
)
@loglevel_option
@click.pass_context
def command(context: click.Context, host: str, port: int, workers: int, loglevel: str | None) -> None:
    """Serve HTTP to clients that speak a reranking API: Cohere's, Jina's, Voyage's, TEI's, or our own.

    It is configured by MEMSIFT_* environment variables; see docs/gateway.md. SIGTERM or Ctrl-C lets the calls
    in flight end, with exit code 0.
    """
    if context.invoked_subcommand:
        return
    checked = settings.load(GatewaySettings)
    if not keys.load(checked.gateway_keys) and not access.is_loopback(host):
        raise Refused(f"--host {host}: {access.REMEDY}")
    if checked.gateway_ui and not checked.gateway_ui_public and not access.is_loopback(host):
        raise Refused(f"--host {host}: {fence.ELSEWHERE}")
    check_free(host, port)
    log_level(loglevel, checked)  # for `serving.application`, which takes over the logging
    shared = _shared_metrics() if checked.gateway_metrics_port and workers > 1 else contextlib.nullcontext()
    with shared, contextlib.suppress(KeyboardInterrupt):
        uvicorn.run(
            APP,
            factory=True,
            host=host,
            port=port,
            workers=workers,
            http="httptools",
            ws="none",
            access_log=False,  # it would show query strings; the gateway has its own
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=math.ceil(checked.gateway_max_deadline_ms / 1e3) + 1,
            log_config=None,
        )


@command.command("key")
@click.argument("name")
def key(name: str) -> None:
    """Make an API key.

    Prints the key, which is kept nowhere, on stderr, and its entry for the file of MEMSIFT_GATEWAY_KEYS on
    stdout: `memsift gateway key open-webui >> keys.toml`.
    """
    made, entry = keys.new(name)
    click.echo(f"the key, shown once: {made}", err=True)
    click.echo(entry)


@contextlib.contextmanager
def _shared_metrics() -> Iterator[None]:
    """A directory in which all processes count together, unless the operator has named one."""
    if is_shared():
        yield
        return
    with tempfile.TemporaryDirectory(prefix="memsift-metrics-") as directory:
        os.environ[SHARED_DIRECTORY] = directory
        yield
