"""One pooled HTTP client for a rerank server, and the faults that its answers mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx
import orjson

from memsift_workers.egress import client_options
from memsift_workers.rankers.retrying import Busy, Retrying, stated_wait
from memsift_workers.runtimes.base import RuntimeGarbage, RuntimeMisconfigured, RuntimeUnavailable

CONNECT_SECONDS = 5.0
"""For TCP and TLS together; a call's own deadline is nearly always shorter."""
KEEPALIVE_SECONDS = 4.0
"""uvicorn (infinity, vLLM, SGLang) closes an idle connection after 5 s; ours must go before."""
MAX_ANSWER_BYTES = 4 * 1024 * 1024
"""200 memories of 2,000 characters echoed in UTF-8 are at most 1.6 MB; what is longer is no answer."""


class Unreachable(Busy):
    """No connection, or one that broke before the answer was whole."""


class Limited(Busy):
    """HTTP 429: not this request is wrong but the time."""


class NoSuchPath(RuntimeMisconfigured):
    """HTTP 404 or 405: nothing is served under this path (vLLM: or no model of this name)."""


class KeyRefused(RuntimeMisconfigured):
    """HTTP 401 or 403."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A decoded answer with HTTP 2xx, and its headers."""

    json: Any
    headers: Mapping[str, str]


class RerankHttp:
    """Speaks JSON with one server.

    Reading has no time limit of its own: the caller bounds the whole call and cancels it, which also ends
    an answer that trickles.

    Args:
        url: of the server, or of its rerank endpoint (a path that ends in `rerank`).
        api_key: sent as a bearer token.
        connections: the most requests that are under way at once; others wait.
        allow_egress: whether the server may be at a public address.
    """

    def __init__(
        self, url: str, *, api_key: str | None, connections: int, allow_egress: bool = False
    ) -> None:
        parsed = _parse(url)
        self.path = parsed.path.rstrip("/")
        # Without what may stand before the @ in a URL.
        self.shown = f"{parsed.scheme}://{parsed.netloc.decode('ascii', 'replace')}"
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if api_key:
            headers["authorization"] = f"Bearer {api_key.strip()}"
        self._client = httpx.AsyncClient(
            base_url=parsed.copy_with(path="/", query=None, fragment=None),
            headers=headers,
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
            limits=httpx.Limits(
                max_connections=connections,
                max_keepalive_connections=connections,
                keepalive_expiry=KEEPALIVE_SECONDS,
            ),
            **client_options(allowed=allow_egress),
        )
        self._retrying = Retrying()

    async def post_until(self, path: str, body: dict[str, Any], ends_at: float) -> Reply:
        """Post, and try again while there is time: as `Retrying` does after 429, once after a fault.

        Args:
            path: an absolute path.
            body: becomes JSON.
            ends_at: when nobody waits any more, on the event loop's clock.

        Raises:
            RuntimeFault: as `send`, of the last try.
        """
        failed = False

        async def once_more() -> Reply:
            nonlocal failed
            try:
                return await self.send("POST", path, body)
            except Limited:
                raise
            except Busy as fault:
                # A request that breaks the server would break it each time.
                if failed:
                    raise RuntimeUnavailable(str(fault)) from None
                failed = True
                raise

        return await self._retrying.call(once_more, ends_at=ends_at)

    async def send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Reply:
        """One request.

        Raises:
            Busy: HTTP 408 or 5xx; `Limited` for 429, `Unreachable` without a whole answer.
            NoSuchPath: HTTP 404 or 405.
            KeyRefused: HTTP 401 or 403.
            RuntimeMisconfigured: any other status than 2xx.
            RuntimeGarbage: the answer is not JSON, or endless.
        """
        what = f"{method} {self.shown}{path}"
        content = None if body is None else orjson.dumps(body)
        try:
            async with self._client.stream(method, path, content=content) as response:
                _check_status(what, response)
                return Reply(_decode(what, await _read(what, response)), response.headers)
        except httpx.HTTPError as error:
            raise Unreachable(f"{what}: {type(error).__name__}") from None

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


def _parse(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = None
    if parsed is None or parsed.scheme not in {"http", "https"} or not parsed.host:
        raise RuntimeMisconfigured("MEMSIFT_CLEF_URL must be http://host or https://host")
    return parsed


def _check_status(what: str, response: httpx.Response) -> None:
    """The body is left out of every message: servers quote the request in it."""
    status = response.status_code
    said = f"{what} answered HTTP {status}"
    if response.is_success:
        return
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        raise Limited(said, after=stated_wait(response.headers))
    if response.is_server_error or status == HTTPStatus.REQUEST_TIMEOUT:
        raise Busy(said, after=stated_wait(response.headers))
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        raise KeyRefused(f"{said}: check MEMSIFT_CLEF_API_KEY")
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}:
        raise NoSuchPath(said)
    raise RuntimeMisconfigured(said)


async def _read(what: str, response: httpx.Response) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_raw():
        content += chunk
        if len(content) > MAX_ANSWER_BYTES:
            raise RuntimeGarbage(f"{what} answered more than {MAX_ANSWER_BYTES} bytes")
    return bytes(content)


def _decode(what: str, content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        raise RuntimeGarbage(f"{what} answered something that is not JSON") from None
