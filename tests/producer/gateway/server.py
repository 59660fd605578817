"""A gateway on a real socket, in the test's own event loop."""

import asyncio

from memsift_producer.gateway import create_app
from memsift_schemas.settings import GatewaySettings
from tests.producer import listening as app_listening


def listening(**settings):
    """Its address, `http://127.0.0.1:PORT`."""
    return app_listening.listening(create_app(GatewaySettings(**settings)))


async def raw_post(url, path, body, **headers):
    """A connection that has sent a request: reader and writer."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    lines = [f"POST {path} HTTP/1.1", f"host: {host}", "content-type: application/json"]
    lines += [f"{name}: {value}" for name, value in {"content-length": len(body), **headers}.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    await writer.drain()
    return reader, writer
