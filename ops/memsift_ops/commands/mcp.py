"""`memsift mcp`."""

from __future__ import annotations

import asyncio
import contextlib
import math

import click
import uvicorn

from memsift_ops.listening import check_free
from memsift_ops.loglevel import log_level, loglevel_option
from memsift_producer.mcp import create_server
from memsift_producer.mcp.serving import LOOPBACK, PATH, http_app, serve_stdio
from memsift_schemas import logs, settings
from memsift_schemas.settings import GatewaySettings

PORT = 8011


@click.command("mcp")
@click.option(
    "--http", is_flag=True, help="Serve streamable HTTP on this machine instead of stdin and stdout."
)
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(1, 65535), help="With --http.")
@loglevel_option
def command(*, http: bool, port: int, loglevel: str | None) -> None:
    """Serve tools to agents over the Model Context Protocol: rerank_memories and explain_ranking.

    An agent's configuration names this command, and talks to it on stdin and stdout. It is configured by
    MEMSIFT_* environment variables; see docs/mcp.md.
    """
    checked = settings.load(GatewaySettings)
    logs.start(log_level(loglevel, checked), checked.log_format)  # to stderr: stdout is the protocol's
    server = create_server(checked)
    if not http:
        asyncio.run(serve_stdio(server))
        return
    check_free(LOOPBACK, port)
    click.echo(f"memsift: serving http://{LOOPBACK}:{port}{PATH}", err=True)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.run(
            http_app(server, checked),
            host=LOOPBACK,
            port=port,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=math.ceil(checked.gateway_max_deadline_ms / 1e3) + 1,
            log_config=None,
        )
