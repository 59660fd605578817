"""The server on a transport: this process's stdin and stdout, or HTTP for this machine alone."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from typing import Any, Self

from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from starlette.applications import Starlette

from memsift_producer.mcp.tools import Desk
from memsift_schemas.settings import GatewaySettings

LOOPBACK = "127.0.0.1"
PATH = "/mcp"


async def serve_stdio(server: Server[Desk]) -> None:
    """Serve the program that started this one, until it closes stdin, or until this is cancelled."""
    lines: Any = _Stdin()
    async with stdio_server(stdin=lines) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


class _Stdin:
    """The lines of stdin. A daemon thread waits for them, so that a signal ends the process meanwhile.

    The SDK's own reader waits in a thread that must return before the event loop may end.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue(1)
        threading.Thread(target=self._read, name="memsift-stdin", daemon=True).start()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        return line

    def _read(self) -> None:
        # A reader of its own: the interpreter closes `sys.stdin` at its end, and would wait for its lock.
        with contextlib.suppress(RuntimeError), open(sys.stdin.fileno(), "rb", closefd=False) as stdin:
            for line in stdin:
                self._put(line.decode("utf-8", "replace"))
            self._put(None)

    def _put(self, line: str | None) -> None:
        """Hand a line over.

        Raises:
            RuntimeError: the event loop has ended.
        """
        asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()


def http_app(server: Server[Desk], settings: GatewaySettings) -> Starlette:
    """The ASGI application of streamable HTTP; refuses what was sent to another name than this machine's.

    Args:
        server: opened and closed by the application's lifespan.
        settings: say how large a request may be.
    """
    return server.streamable_http_app(
        host=LOOPBACK, streamable_http_path=PATH, max_request_body_size=settings.gateway_max_bytes
    )
