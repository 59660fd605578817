"""As much of an HTTP/1.1 server as the fake SGLang and the fake Sentry need, with the client's going seen."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"transfer-encoding: *chunked", re.IGNORECASE)
_HEAD_LIMIT = 1 << 16


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    method: str
    path: str
    head: bytes
    body: bytes


# Gives status and body.
Answering = Callable[[Asked], Awaitable[tuple[int, bytes]]]


async def serve(port: int, answer: Answering) -> None:
    """Answer requests for ever; one whose client goes away is cancelled.

    Args:
        port: on loopback.
        answer: may take as long as it likes.
    """

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError, asyncio.LimitOverrunError):
            while await _one(reader, writer, answer):
                pass
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", port, limit=_HEAD_LIMIT, backlog=1024)
    async with server:
        await server.serve_forever()


async def _one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answering) -> bool:
    head = await reader.readuntil(b"\r\n\r\n")
    method, path = head.split(b" ", 2)[:2]
    asked = Asked(method.decode(), path.decode(), head, await _body(reader, head))
    working = asyncio.ensure_future(answer(asked))
    # A client that waits for an answer sends nothing more; what can be read is its going away.
    gone = asyncio.ensure_future(reader.read(1))
    await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
    if not working.done():
        working.cancel()
        return False
    if not gone.cancel() and gone.result() == b"":
        return False
    status, content = working.result()
    with contextlib.suppress(asyncio.CancelledError):
        await gone
    writer.write(b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n%b" % (status, len(content), content))
    await writer.drain()
    return True


async def _body(reader: asyncio.StreamReader, head: bytes) -> bytes:
    if _CHUNKED.search(head):
        parts = []
        while size := int(await reader.readuntil(b"\r\n"), 16):
            parts.append(await reader.readexactly(size))
            await reader.readexactly(2)
        await reader.readexactly(2)
        return b"".join(parts)
    length = _LENGTH.search(head)
    return await reader.readexactly(int(length[1])) if length else b""
