"""The SDK's own client before a server: in this process, over stdio to `memsift mcp`, over HTTP."""

import contextlib
import os
import sys

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from memsift_producer.mcp import create_server
from memsift_producer.mcp.serving import PATH, http_app
from memsift_schemas.settings import GatewaySettings
from tests.producer.listening import listening

QUERY = "Where is the spare key to the cabin?"
TEXTS = [
    "The cabin has no heating.",
    "The spare key to the cabin lies under the pot.",
    "Jonas moved to Trieste.",
]
NOWHERE = "redis://127.0.0.1:1/0"
TRANSPORTS = [
    pytest.param("here", id="in-process"),
    pytest.param("stdio", marks=pytest.mark.stack),
    "http",
]


@contextlib.asynccontextmanager
async def connected(transport, mode="auto", **settings):
    """A client of a server with these settings.

    Entered and left by the test itself: the client's tasks belong to the task that opened it.
    """
    if transport == "stdio":
        told = {f"MEMSIFT_{name.upper()}": str(value) for name, value in settings.items()}
        paths = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "memsift_ops", "mcp"], env={**paths, **told}
        )
        async with Client(command, mode=mode) as client:
            yield client
        return
    checked = GatewaySettings(**settings)
    server = create_server(checked)
    if transport == "here":
        async with Client(server, mode=mode) as client:
            yield client
        return
    async with listening(http_app(server, checked)) as url, Client(f"{url}{PATH}", mode=mode) as client:
        yield client


def text_of(result):
    (only,) = result.content
    return only.text
