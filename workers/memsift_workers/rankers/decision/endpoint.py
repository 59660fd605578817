"""One System One server: what its errors mean, and when it is asked again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import httpx
import orjson

from memsift_workers.egress import client_options
from memsift_workers.rankers.decision.dialects import parse
from memsift_workers.rankers.retrying import Busy, Retrying, stated_wait
from memsift_workers.runtimes.base import RuntimeFault, RuntimeGarbage, RuntimeMisconfigured

MAX_CONNECTIONS = 32
"""More requests are queued here, where their time is counted, and not in the server."""
CONNECT_SECONDS = 2.0
MOST_BYTES = 1 << 20
"""Of one answer; a hundred times what 200 questions take."""
_TRY_AGAIN = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
# What may be repeated of an error's body: names, never a sentence, which may quote a memory.
_NAME = re.compile(r"[A-Za-z0-9_]{1,40}(\.[A-Za-z0-9_]{1,40}){0,3}")
_MOST_NAMES = 2


class DecisionEndpoint:
    """Posts JSON to one URL.

    Args:
        url: the whole URL, with the dialect's path.
        api_key: sent as a bearer token.
        allow_egress: whether the server may be at a public address.
    """

    def __init__(self, url: str, *, api_key: str | None, allow_egress: bool = False) -> None:
        self.url = url
        headers = {"content-type": "application/json"}
        if api_key:
            headers["authorization"] = f"Bearer {api_key}"
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
            limits=httpx.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_CONNECTIONS),
            **client_options(allowed=allow_egress),
        )
        self._retrying = Retrying()

    async def post(self, body: dict[str, Any], *, ends_at: float) -> bytes:
        """Send a request and return the body of the answer.

        Args:
            body: of the request.
            ends_at: loop time after which nobody waits; the caller's own timeout bounds the call.

        Raises:
            Busy: no connection, HTTP 408, 425, 429 or 5xx, and no time to wait for better.
            RuntimeMisconfigured: any other status than 2xx.
        """
        content = orjson.dumps(body)
        return await self._retrying.call(lambda: self._send(content), ends_at=ends_at)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def _send(self, content: bytes) -> bytes:
        received = bytearray()
        try:
            async with self._client.stream("POST", self.url, content=content) as response:
                async for chunk in response.aiter_bytes():
                    received += chunk
                    if len(received) > MOST_BYTES:
                        raise RuntimeGarbage("the decision server's answer does not end")
        except (httpx.UnsupportedProtocol, httpx.InvalidURL):
            raise RuntimeMisconfigured("MEMSIFT_DECISION_URL must be http://host or https://host") from None
        except httpx.HTTPError as error:
            raise Busy(f"the decision server does not answer ({type(error).__name__})") from None
        if not response.is_success:
            raise _fault(response, bytes(received))
        return bytes(received)


def _fault(response: httpx.Response, content: bytes) -> RuntimeFault:
    status = response.status_code
    named = ", ".join(error_names(content))
    said = f"the decision server answered HTTP {status}" + (f" ({named})" if named else "")
    if response.is_server_error or status in _TRY_AGAIN:
        return Busy(said, after=stated_wait(response.headers))
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return RuntimeMisconfigured(f"{said}: check MEMSIFT_DECISION_API_KEY")
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}:
        return RuntimeMisconfigured(f"{said}: check MEMSIFT_DECISION_URL, _DIALECT and _MODEL")
    return RuntimeMisconfigured(said)


def error_names(content: bytes) -> list[str]:
    """What an error's body says in names: kinds of errors and fields, for the operator's log.

    Reads `{detail: [{type, loc}]}`, `{detail: {error_type}}`, `{error: {field}}`, `{errors: [{code}]}` of
    Workers AI and `{type, param}` of SGLang. Sentences are never repeated.
    """
    try:
        data = parse(content)
    except RuntimeGarbage:
        return []
    names = (str(one) for one in _named(data) if isinstance(one, str | int))
    return [name for name in names if _NAME.fullmatch(name)][:_MOST_NAMES]


def _named(data: Any) -> Iterator[Any]:
    if not isinstance(data, dict):
        return
    for place in (data, data.get("detail"), data.get("error"), data.get("errors")):
        for one in place if isinstance(place, list) else [place]:
            if isinstance(one, dict):
                yield from (one.get(key) for key in ("error_type", "type", "code", "field", "param"))
                loc = one.get("loc")
                yield ".".join(map(str, loc[-3:])) if isinstance(loc, list) else None
