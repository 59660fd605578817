"""No byte goes to a public address, wherever names and redirects lead after the start.

127.0.0.2 plays the public address: a server of ours listens there and counts what reaches it.
"""

import asyncio
import ipaddress
import socket
import struct
import sys

import httpx
import orjson
import pytest

from memsift_schemas import Cause
from memsift_schemas.settings import WorkerSettings
from memsift_workers import egress
from memsift_workers.assembly import build_rankers
from memsift_workers.egress import EgressRefused, check_url, connection_guard
from memsift_workers.rankers.base import RankFault
from memsift_workers.rankers.nox.endpoint import ChatEndpoint
from memsift_workers.runtimes.base import RuntimeMisconfigured, RuntimeUnavailable
from memsift_workers.runtimes.sglang_http import SGLangHttp
from tests.samples import job

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="has no 127.0.0.2 unless told")

INSIDE, OUTSIDE = "127.0.0.1", "127.0.0.2"
NAME = "model.internal"


class Server:
    """Answers every request with the same bytes, on one port of both addresses."""

    def __init__(self):
        self.answer = b"{}"
        self.status = "200 OK"
        self.more = ""
        self.connected = {INSIDE: 0, OUTSIDE: 0}
        self.requests = {INSIDE: [], OUTSIDE: []}

    async def __aenter__(self):
        self.servers = [await asyncio.start_server(self.serve, INSIDE, 0)]
        self.port = self.servers[0].sockets[0].getsockname()[1]
        self.servers.append(await asyncio.start_server(self.serve, OUTSIDE, self.port))
        return self

    async def __aexit__(self, *_):
        for server in self.servers:
            server.close()

    async def serve(self, reader, writer):
        address = writer.get_extra_info("sockname")[0]
        self.connected[address] += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
                body = await reader.readexactly(int(length[0].split(b":")[1])) if length else b""
                self.requests[address].append(head + body)
                writer.write(
                    f"HTTP/1.1 {self.status}\r\ncontent-length: {len(self.answer)}\r\n"
                    f"content-type: application/json\r\n{self.more}\r\n".encode()
                    + self.answer
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def server():
    async with Server() as one:
        yield one


@pytest.fixture
def names(monkeypatch):
    """What NAME resolves to, changed by tests; and 127.0.0.2 is public."""
    table = {NAME: [INSIDE]}

    async def resolve(self, host, port, **kwargs):
        name = host.decode() if isinstance(host, bytes) else host
        found = table.get(name, [name])
        if callable(found):
            found = found()
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr("asyncio.base_events.BaseEventLoop.getaddrinfo", resolve)
    real = egress._is_inside
    monkeypatch.setattr(egress, "_is_inside", lambda address: address != OUTSIDE and real(address))
    assert ipaddress.ip_address(OUTSIDE).is_loopback
    return table


async def test_a_name_that_resolves_elsewhere_after_the_start_gets_no_byte(server, names):
    url = f"http://{NAME}:{server.port}"
    await check_url(url, allowed=False)
    http = SGLangHttp(url, api_key=None, connect_timeout=2)
    await http.post("/generate", {"text": "memory"})
    names[NAME] = [OUTSIDE]
    server.more = "connection: close\r\n"
    await http.post("/generate", {"text": "the connection to the first address is still there"})
    with pytest.raises(EgressRefused, match=f"{NAME} is a public address.*MEMSIFT_ALLOW_EGRESS=1"):
        await http.post("/generate", {"text": "memory"})
    await http.close()
    assert (len(server.requests[INSIDE]), server.requests[OUTSIDE]) == (2, [])


async def test_the_guard_is_what_stops_it(server, names):
    """Given the fault that the guard is there for, when nobody guards, then the memory arrives outside."""
    names[NAME] = [OUTSIDE]
    http = SGLangHttp(f"http://{NAME}:{server.port}", api_key=None, connect_timeout=2, allow_egress=True)
    await http.post("/generate", {"text": "memory"})
    await http.close()
    assert b"memory" in server.requests[OUTSIDE][0]


async def test_it_works_again_when_the_name_is_right_again(server, names):
    http = SGLangHttp(f"http://{NAME}:{server.port}", api_key=None, connect_timeout=2)
    names[NAME] = [OUTSIDE]
    for _ in range(3):
        with pytest.raises(EgressRefused):
            await http.post("/generate", {"text": "memory"})
    names[NAME] = [INSIDE]
    await http.post("/generate", {"text": "memory"})
    await http.close()
    assert server.requests[OUTSIDE] == []


async def test_a_name_with_both_kinds_of_address_is_used_inside_alone(server, names):
    """Given a client that tries several addresses, then it counts which one it came to."""
    names[NAME] = [OUTSIDE, INSIDE]
    http = SGLangHttp(f"http://{NAME}:{server.port}", api_key=None, connect_timeout=2)
    with pytest.raises(EgressRefused):
        await http.post("/generate", {"text": "memory"})
    await http.close()
    assert server.requests[OUTSIDE] == []


@pytest.mark.parametrize("status", ["302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
async def test_a_redirect_is_an_error_and_not_followed(server, names, status):
    server.status, server.more = status, f"location: http://{OUTSIDE}:{server.port}/\r\n"
    http = SGLangHttp(f"http://{NAME}:{server.port}", api_key=None, connect_timeout=2)
    with pytest.raises(RuntimeMisconfigured, match=f"HTTP {status[:3]}"):
        await http.post("/generate", {"text": "memory"})
    await http.close()
    assert server.connected[OUTSIDE] == 0


async def test_a_client_that_follows_redirects_is_stopped_too(server, names):
    server.status, server.more = "307 Temporary Redirect", f"location: http://{OUTSIDE}:{server.port}/\r\n"
    async with httpx.AsyncClient(
        follow_redirects=True, event_hooks=connection_guard(allowed=False)
    ) as client:
        with pytest.raises(EgressRefused):
            await client.post(f"http://{NAME}:{server.port}", content=b"memory")
    assert server.requests[OUTSIDE] == []


@pytest.mark.parametrize("ranker", ["clef", "decision", "nox", "local"])
async def test_every_ranker_that_speaks_http_is_guarded(server, names, ranker):
    """Given a name that moves outside between the check at start and the first connection."""
    url = f"http://{NAME}:{server.port}"
    settings = WorkerSettings(
        ranker=ranker, runtime="sglang", sglang_url=url, clef_url=f"{url}/rerank", decision_url=url,
        nox_url=f"{url}/v1", nox_model="m",
    )  # fmt: skip
    (built,) = build_rankers(settings)
    asked = iter([[INSIDE]])
    names[NAME] = lambda: next(asked, [OUTSIDE])
    with pytest.raises(RuntimeMisconfigured, match="MEMSIFT_ALLOW_EGRESS=1"):
        await built.start()
    await built.close()
    assert next(asked, None) is None, "the check at start has seen an address inside"
    assert (server.connected[OUTSIDE] > 0, server.requests[OUTSIDE]) == (True, [])


async def test_a_refused_address_is_the_jobs_fault_and_not_the_workers_end(server, names):
    settings = WorkerSettings(ranker="decision", decision_url=f"http://{NAME}:{server.port}")
    (built,) = build_rankers(settings)
    names[NAME] = [OUTSIDE]
    (outcome,) = await built.rank([job()], timeout=5)
    assert isinstance(outcome, RankFault)
    assert outcome.cause is Cause.RUNTIME_UNAVAILABLE
    assert "MEMSIFT_ALLOW_EGRESS=1" in str(outcome)
    await built.close()
    assert server.requests[OUTSIDE] == []


async def test_the_openai_client_does_not_hide_the_reason(server, names):
    endpoint = ChatEndpoint(f"http://{NAME}:{server.port}/v1", api_key=None, model="m")
    names[NAME] = [OUTSIDE]
    ends_at = asyncio.get_running_loop().time() + 5
    with pytest.raises(EgressRefused, match="MEMSIFT_ALLOW_EGRESS=1"):
        await endpoint.ask([{"role": "user", "content": "memory"}], schema={}, max_tokens=5, ends_at=ends_at)
    assert server.connected[OUTSIDE] == 1, "it was tried again"
    await endpoint.close()
    assert server.requests[OUTSIDE] == []


class Gone:
    """A connection that the other side has reset: the system knows no peer of it any more."""

    closed = False

    def get_extra_info(self, name):
        return None

    async def aclose(self):
        self.closed = True


async def test_a_connection_that_is_gone_already_is_a_fault_that_passes_and_no_public_address():
    (watch,) = connection_guard(allowed=False)["request"]
    request, stream = httpx.Request("POST", f"http://{NAME}"), Gone()
    await watch(request)
    with pytest.raises(RuntimeUnavailable, match=f"{NAME} closed the connection"):
        await request.extensions["trace"]("connection.connect_tcp.complete", {"return_value": stream})
    assert stream.closed


async def test_a_server_that_resets_every_connection_is_away(names):
    """Given one that does so the moment it accepts, when it is asked often, then it's never called public."""
    listener = socket.create_server((INSIDE, 0))
    listener.setblocking(False)

    async def reset():
        while True:
            accepted, _ = await asyncio.get_running_loop().sock_accept(listener)
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            accepted.close()

    resetting = asyncio.create_task(reset())
    http = SGLangHttp(f"http://{INSIDE}:{listener.getsockname()[1]}", api_key=None, connect_timeout=2)
    try:
        for _ in range(50):
            with pytest.raises(RuntimeUnavailable):
                await http.post("/generate", {"text": "memory"})
    finally:
        resetting.cancel()
        await http.close()
        listener.close()


async def test_tls_does_not_begin_outside(server, names):
    names[NAME] = [OUTSIDE]
    http = SGLangHttp(f"https://{NAME}:{server.port}", api_key=None, connect_timeout=2)
    with pytest.raises(EgressRefused):
        await http.post("/generate", orjson.loads(b'{"text": "memory"}'))
    await http.close()
    assert server.requests[OUTSIDE] == []
