"""Stops work whose client has gone: its job is withdrawn, or marked for the worker to drop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

from memsift_producer.gateway.body import Gone

T = TypeVar("T")


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """The work's result.

    Args:
        receive: the ASGI server's, after the body was read: tells only of a client that goes away.
        work: is cancelled then.

    Raises:
        Gone: the client went away first.
    """
    task = asyncio.ensure_future(work)
    watch = asyncio.ensure_future(_gone(receive, task))
    try:
        return await task
    except asyncio.CancelledError:
        if task.cancelled() and watch.done() and not watch.cancelled():
            raise Gone from None
        raise
    finally:
        watch.cancel()


async def _gone(receive: Receive, task: asyncio.Future[Any]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    task.cancel()
