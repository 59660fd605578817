"""One pooled HTTP client for an SGLang server, and the faults that its answers mean."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import httpx
import orjson

from memsift_workers import tracing
from memsift_workers.egress import client_options
from memsift_workers.runtimes.base import (
    RuntimeCrashed,
    RuntimeFault,
    RuntimeGarbage,
    RuntimeMisconfigured,
    RuntimeUnavailable,
)

MAX_CONNECTIONS = 64
"""SGLang runs 32-256 requests at once and queues the rest; more connections only move the queue there."""
KEEPALIVE_SECONDS = 4.0
"""SGLang closes an idle connection after 5 s; giving it up before that avoids sending into a closed one."""
ABORTS_AT_ONCE = 8
"""Aborts go one by one per prompt and must not crowd out the next batch."""
ABORT_SECONDS = 2.0
"""An abort that takes longer is pointless: SGLang notices the closed connection within 4 s by itself."""
_TRY_AGAIN = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})


class SGLangHttp:
    """Speaks JSON with one base URL.

    Reading has no time limit of its own: the caller bounds the whole call and cancels it.

    Args:
        base_url: of an SGLang server or an sglang-router, e.g. `http://127.0.0.1:30000`.
        api_key: sent as a bearer token.
        connect_timeout: seconds to open a connection.
        allow_egress: whether the server may be at a public address.
    """

    def __init__(
        self, base_url: str, *, api_key: str | None, connect_timeout: float, allow_egress: bool = False
    ) -> None:
        self.base_url = base_url.rstrip("/")
        headers = {"content-type": "application/json"}
        if api_key:
            headers["authorization"] = f"Bearer {api_key}"
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(None, connect=connect_timeout),
            limits=httpx.Limits(
                max_connections=MAX_CONNECTIONS,
                max_keepalive_connections=MAX_CONNECTIONS,
                keepalive_expiry=KEEPALIVE_SECONDS,
            ),
            **client_options(allowed=allow_egress),
        )
        self._abort_slots = asyncio.Semaphore(ABORTS_AT_ONCE)
        self._aborting: set[asyncio.Task[None]] = set()

    async def get(self, path: str) -> Any:
        """Fetch JSON; raises like `post`."""
        return _decode(path, await self._send("GET", path, None))

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """Send JSON and return the decoded answer.

        Raises:
            RuntimeCrashed: the connection broke before there was an answer.
            RuntimeUnavailable: no connection, HTTP 5xx, 408 or 429.
            RuntimeMisconfigured: any other status than 2xx, or a URL that is none.
            RuntimeGarbage: the answer is not JSON.
        """
        return _decode(path, await self._send("POST", path, orjson.dumps(body)))

    async def check_health(self) -> None:
        """Ask `/health`, which SGLang answers after it has generated a token, so in about a second.

        Raises:
            RuntimeUnavailable: the server is away or still loading.
            RuntimeMisconfigured: what listens there is no SGLang.
        """
        await self._send("GET", "/health", None)

    def abort(self, rids: Sequence[str]) -> None:
        """Tell the server, in the background, that nobody waits for these requests any more."""
        task = asyncio.get_running_loop().create_task(self._abort(rids))
        self._aborting.add(task)
        task.add_done_callback(self._aborting.discard)

    async def close(self) -> None:
        """Let the last aborts out, then close all connections."""
        await asyncio.gather(*self._aborting)
        await self._client.aclose()

    async def _abort(self, rids: Sequence[str]) -> None:
        try:
            async with asyncio.timeout(ABORT_SECONDS), asyncio.TaskGroup() as group:
                for rid in rids:
                    group.create_task(self._abort_one(rid))
        except* (TimeoutError, RuntimeFault):
            # An sglang-router has no /abort_request, and a server may want an admin key for it. The
            # connection is closed already, and SGLang looks for that every 4 s.
            pass

    async def _abort_one(self, rid: str) -> None:
        async with self._abort_slots:
            await self._send("POST", "/abort_request", orjson.dumps({"rid": rid}))

    async def _send(self, method: str, path: str, content: bytes | None) -> httpx.Response:
        try:
            response = await self._client.request(
                method, self.base_url + path, content=content, headers=tracing.headers()
            )
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise RuntimeMisconfigured(f"{self.base_url}: {type(error).__name__}") from None
        except (httpx.ReadError, httpx.RemoteProtocolError) as error:
            raise RuntimeCrashed(f"{method} {self.base_url}{path}: {type(error).__name__}") from None
        except httpx.HTTPError as error:
            raise RuntimeUnavailable(f"{method} {self.base_url}{path}: {type(error).__name__}") from None
        if response.is_success:
            return response
        # The body is left out: SGLang may quote the prompt in it.
        said = f"{method} {self.base_url}{path} answered HTTP {response.status_code}"
        if response.is_server_error or response.status_code in _TRY_AGAIN:
            raise RuntimeUnavailable(said)
        if response.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise RuntimeMisconfigured(f"{said}: check the API key")
        raise RuntimeMisconfigured(said)


def _decode(path: str, response: httpx.Response) -> Any:
    try:
        return orjson.loads(response.content)
    except orjson.JSONDecodeError:
        raise RuntimeGarbage(f"{path} answered something that is not JSON") from None
