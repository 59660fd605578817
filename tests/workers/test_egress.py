"""A public address is refused with its remedy; a private one, or a permitted one, passes."""

import socket

import pytest

from memsift_workers.egress import EgressRefused, check_url
from memsift_workers.runtimes.base import RuntimeMisconfigured, RuntimeUnavailable


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "10.1.2.3", "172.20.0.9", "192.168.1.1", "100.64.0.1", "169.254.1.1", "[::1]",
     "[fd00::1]", "[fe80::1]", "[::ffff:10.0.0.1]"],
)  # fmt: skip
async def test_private_addresses_are_inside(host):
    await check_url(f"http://{host}:30000/v1", allowed=False)


@pytest.mark.parametrize("host", ["8.8.8.8", "[2606:4700::1111]", "[::ffff:8.8.8.8]", "172.32.0.1"])
async def test_public_addresses_are_refused_with_the_switch(host):
    with pytest.raises(EgressRefused, match="MEMSIFT_ALLOW_EGRESS=1"):
        await check_url(f"https://{host}/v1", allowed=False)
    await check_url(f"https://{host}/v1", allowed=True)


async def test_one_public_address_among_private_ones_is_enough(monkeypatch):
    async def both(self, host, port, **kwargs):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in ("10.0.0.1", "8.8.8.8")]

    monkeypatch.setattr("asyncio.base_events.BaseEventLoop.getaddrinfo", both)
    with pytest.raises(EgressRefused, match="rebind is"):
        await check_url("http://rebind", allowed=False)


async def test_a_name_that_does_not_resolve_is_unavailable(monkeypatch):
    async def fails(self, host, port, **kwargs):
        raise socket.gaierror("no such name")

    monkeypatch.setattr("asyncio.base_events.BaseEventLoop.getaddrinfo", fails)
    with pytest.raises(RuntimeUnavailable, match="does not resolve"):
        await check_url("http://nowhere.invalid", allowed=False)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "nonsense", "http://"])
async def test_what_is_no_http_url_is_refused(url):
    with pytest.raises(RuntimeMisconfigured):
        await check_url(url, allowed=False)
