"""A TCP proxy that delays, resets or swallows, told by one JSON line on its control port.

    python -m memsift_ops.chaos.proxy CONTROL_PORT NAME:LISTEN:TARGET ...

A line such as `{"route": "redis", "mode": "blackhole", "delay_ms": 0}` is answered by `ok`. Modes:
`pass`; `reset` ends every connection with a TCP reset, those open and those that come; `blackhole` keeps
connections open and lets no byte through, and what was swallowed arrives when it ends, as on a real network.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import sys
from typing import Any

LOOPBACK = "127.0.0.1"
_CHUNK = 1 << 16
# linger on, 0 s: closing sends a reset.
_RESET = struct.pack("ii", 1, 0)


class Route:
    """One listening port and where it leads."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.mode = "pass"
        self.delay_s = 0.0
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._open: set[asyncio.StreamWriter] = set()

    def become(self, mode: str, delay_ms: float) -> None:
        """Change what happens to open and new connections from now on."""
        self.mode, self.delay_s = mode, delay_ms / 1e3
        if mode == "blackhole":
            self._flowing.clear()
        else:
            self._flowing.set()
        if mode == "reset":
            for writer in list(self._open):
                _reset(writer)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client until either side ends."""
        if self.mode == "reset":
            _reset(writer)
            return
        self._open.add(writer)
        try:
            await self._flowing.wait()
            there, back = await asyncio.open_connection(LOOPBACK, self.target)
        except OSError:
            self._open.discard(writer)
            _reset(writer)
            return
        ways = [asyncio.ensure_future(self._pump(*way)) for way in ((reader, back), (there, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            self._open.discard(writer)
            back.close()
            writer.close()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while chunk := await source.read(_CHUNK):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                await self._flowing.wait()
                sink.write(chunk)
                await sink.drain()


def _reset(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        plain: Any = writer.get_extra_info("socket")
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()


async def main(control_port: int, specs: list[str]) -> None:
    """Serve for ever."""
    routes: dict[str, Route] = {}
    for spec in specs:
        name, listen, target = spec.split(":")
        routes[name] = Route(int(target))
        await asyncio.start_server(routes[name].connected, LOOPBACK, int(listen), backlog=1024)

    async def control(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            told = json.loads(line)
            routes[told["route"]].become(told["mode"], told.get("delay_ms", 0))
            writer.write(b"ok\n")
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(control, LOOPBACK, control_port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2:]))
