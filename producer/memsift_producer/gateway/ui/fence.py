"""Around the page: who may reach it, and what a browser may do with it."""

from __future__ import annotations

from urllib.parse import urlsplit

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memsift_producer.gateway.access import Gateway, is_loopback

# Nothing but the page's own files, no inline script or style, nobody's frame; and no text ever becomes
# markup, in browsers that know trusted types.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_RAW = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
ELSEWHERE = (
    "the page (MEMSIFT_GATEWAY_UI) serves this machine alone: set MEMSIFT_GATEWAY_UI_PUBLIC=1, and keys "
    "(MEMSIFT_GATEWAY_KEYS), to serve it on other addresses"
)
# A name that leads here and is not ours: another site's page could ask us under it and read the answers.
NAMED = "without API keys the page is reached as localhost or 127.0.0.1 alone"


class Fence:
    """Lets in whom the page serves, and adds its headers to every answer.

    Args:
        app: what is inside.
        gateway: knows keys and settings.
    """

    def __init__(self, app: ASGIApp, gateway: Gateway) -> None:
        self._app = app
        self._gateway = gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_RAW]}
            await send(message)

        if scope["type"] == "http" and (why := self._why_not(scope)):
            await _refuse(with_headers, why)
        else:
            await self._app(scope, receive, with_headers)

    def _why_not(self, scope: Scope) -> str | None:
        gateway = self._gateway
        everywhere = gateway.settings.gateway_ui_public and bool(gateway.keys)
        if not everywhere and not is_loopback((scope.get("server") or ("", 0))[0]):
            return ELSEWHERE
        if not gateway.keys and not is_loopback(_named(dict(scope["headers"]).get(b"host", b""))):
            return NAMED
        return None


def _named(host: bytes) -> str:
    """The name in a `Host` header, without port and brackets; nobody's where it cannot be read."""
    try:
        return urlsplit(f"//{host.decode()}").hostname or ""
    except ValueError:
        return "?"


async def _refuse(send: Send, why: str) -> None:
    content = orjson.dumps({"error": {"code": "forbidden", "message": why}})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": content})
