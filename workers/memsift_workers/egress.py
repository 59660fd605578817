"""Memories stay in the private network unless somebody says otherwise.

A server's address is checked twice: by name at start, where a wrong setting shows at once, and each time
that a connection has been made, by the address that it was really made to, before a byte is sent. So neither
a name that resolves otherwise later nor a redirect can lead outside.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from memsift_workers.rankers.retrying import Busy
from memsift_workers.runtimes.base import RuntimeMisconfigured, RuntimeUnavailable

SWITCH = "MEMSIFT_ALLOW_EGRESS"


class EgressRefused(RuntimeMisconfigured):
    """A ranker or runtime would send memories to a public address, and nobody has allowed it."""


async def check_url(url: str, *, allowed: bool) -> None:
    """Make sure that a server is in the private network, by every address that its name resolves to.

    Loopback, private (RFC 1918, RFC 4193), link-local and shared (RFC 6598) addresses are inside.

    Args:
        url: where memories would go.
        allowed: whether they may leave the network; then nothing is checked.

    Raises:
        EgressRefused: an address is public; names the host and the switch.
        RuntimeUnavailable: the name does not resolve now.
        RuntimeMisconfigured: the URL has no host.
    """
    if allowed:
        return
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise RuntimeMisconfigured("the server's URL must be http://host or https://host")
    for address in await _addresses(parts.hostname, parts.port or 443):
        if not _is_inside(address):
            raise _refused(parts.hostname)


def client_options(*, allowed: bool) -> dict[str, Any]:
    """How an `AsyncClient` of httpx or httpx2 that sends memories is made, beside what its server needs.

    No proxy from the environment sees a memory, and no redirect leads out of the network.

    Args:
        allowed: as for `connection_guard`.
    """
    hooks = connection_guard(allowed=allowed)
    return {"trust_env": False, "follow_redirects": False, "event_hooks": hooks}


def connection_guard(*, allowed: bool) -> dict[str, list[Callable[[Any], Awaitable[None]]]]:
    """Event hooks for an `AsyncClient` of httpx or httpx2: it talks to addresses inside the network alone.

    They use httpcore's `trace` extension (https://www.encode.io/httpcore/extensions/#trace), which tells of a
    TCP connection after it is there and before TLS or HTTP begin. What they cost is not measurable beside the
    400 us of CPU that a request takes in httpx.

    Args:
        allowed: whether memories may leave the network; then there are no hooks.

    Returns:
        For the client's `event_hooks`. A request over a public address raises `EgressRefused`; one whose
        connection is gone before its address is known raises `Busy`, a `RuntimeUnavailable`.
    """
    return {} if allowed else {"request": [_watch]}


async def _watch(request: Any) -> None:
    host = request.url.host

    async def look(event: str, info: dict[str, Any]) -> None:
        if event != "connection.connect_tcp.complete":
            return
        stream = info["return_value"]
        address = stream.get_extra_info("server_addr")
        if address is None:
            # The system knows no peer of a connection that was reset at once. No byte has been sent.
            await stream.aclose()
            raise Busy(f"{host} closed the connection at once")
        if not _is_inside(str(address[0])):
            await stream.aclose()
            raise _refused(host)

    request.extensions["trace"] = look


def _refused(host: str) -> EgressRefused:
    return EgressRefused(
        f"{host} is a public address, and memories would leave the network: "
        f"set {SWITCH}=1 to allow it, or use a server of your own"
    )


async def _addresses(host: str, port: int) -> list[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise RuntimeUnavailable(f"the name {host} does not resolve") from None
    return [str(entry[4][0]) for entry in found]


def _is_inside(address: str) -> bool:
    ip = ipaddress.ip_address(address.split("%", maxsplit=1)[0])
    mapped = getattr(ip, "ipv4_mapped", None)
    return not (mapped or ip).is_global
