"""A gateway on a real socket, in the test's own event loop."""

import asyncio
import contextlib
import socket

import uvicorn

from memsift_producer.gateway import create_app
from memsift_schemas import GatewaySettings


@contextlib.asynccontextmanager
async def listening(**settings):
    """Its address, `http://127.0.0.1:PORT`."""
    config = uvicorn.Config(
        create_app(GatewaySettings(**settings)),
        http="httptools",
        ws="none",
        access_log=False,
        log_config=None,
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server._serve(sockets=[listener]))
        while not server.started:
            assert not serving.done(), serving
            await asyncio.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


async def raw_post(url, path, body, **headers):
    """A connection that has sent a request: reader and writer."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    lines = [f"POST {path} HTTP/1.1", f"host: {host}", "content-type: application/json"]
    lines += [f"{name}: {value}" for name, value in {"content-length": len(body), **headers}.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    await writer.drain()
    return reader, writer
