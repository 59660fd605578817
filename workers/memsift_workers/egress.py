"""Memories stay in the private network unless somebody says otherwise."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from urllib.parse import urlsplit

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
            raise EgressRefused(
                f"{parts.hostname} is a public address, and memories would leave the network: "
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
