"""The reranker of an ASGI process, opened and closed by the server's lifespan, which Django knows not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from memsift_producer import Reranker
from memsift_schemas import SettingsError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


class WithReranker:
    """An ASGI application with a reranker that lives as long as the server.

    Args:
        application: Django's.
    """

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection, or the server's life."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await self._application(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()  # lifespan.startup
        try:
            reranker = Reranker()
        except SettingsError as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        async with reranker as current.reranker:
            await send({"type": "lifespan.startup.complete"})
            await receive()  # lifespan.shutdown
        await send({"type": "lifespan.shutdown.complete"})


class Current:
    """This process's; views ask it."""

    reranker: Reranker


current = Current()
