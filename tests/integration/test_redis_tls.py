"""rediss://: both sides work over TLS, and a certificate that is not trusted is refused with the remedy."""

import asyncio
import logging

import pytest

from memsift_ops import services
from memsift_producer import Reranker
from memsift_schemas import Cause, Source
from memsift_schemas.redis_link import connect, tell
from tests.integration.servers import until
from tests.integration.tls import Authority, tls_front
from tests.samples import memories

pytestmark = pytest.mark.stack


def plain_port(valkey_url):
    return int(valkey_url.split(":")[2].split("/")[0])


def trusting(port, authority, host="127.0.0.1"):
    return f"rediss://{host}:{port}/0?ssl_ca_certs={authority.file}&ssl_cert_reqs=required"


async def ask(url, queue, deadline_ms=5_000):
    async with Reranker.from_url(url, queue=queue, deadline_ms=deadline_ms) as reranker:
        return await reranker.rerank(query="Where is the key?", memories=memories(4))


async def answered_by_the_model(url, queue):
    """Whether a call is, of several: on a busy machine a first handshake may take its second."""
    for _ in range(10):
        if (await ask(url, queue)).source is Source.MODEL:
            return True
        await asyncio.sleep(0.5)
    return False


async def fault_of(url):
    client = connect(url, client_name="test", connections=1)
    try:
        with pytest.raises(Exception) as caught:  # noqa: PT011  # whatever it is, it is told
            await client.ping()
    finally:
        await client.aclose()
    return tell(caught.value)


async def test_producer_drain_and_celery_work_over_tls(valkey_url, queue, servers, tmp_path):
    authority = Authority(tmp_path, "ours")
    async with tls_front(plain_port(valkey_url), authority.server_context()) as port:
        url = trusting(port, authority)
        worker = await asyncio.to_thread(servers.worker, url, queue, seen_by=valkey_url)
        assert await answered_by_the_model(url, queue)
        await asyncio.to_thread(until, lambda: any("ready." in line for line in worker.last_lines(500)))
        await asyncio.to_thread(until, lambda: services.ready_workers(url, queue))
        await asyncio.to_thread(servers.stop)


async def test_another_authoritys_certificate_is_refused_with_the_remedy(valkey_url, queue, tmp_path, caplog):
    ours, theirs = Authority(tmp_path, "ours"), Authority(tmp_path, "theirs")
    async with tls_front(plain_port(valkey_url), theirs.server_context()) as port:
        with caplog.at_level(logging.WARNING):
            reranking = await ask(trusting(port, ours), queue, deadline_ms=300)
        assert reranking.source is Source.PREFILTER
        assert reranking.cause in {Cause.REDIS_UNAVAILABLE, Cause.BREAKER_OPEN}
        said = await fault_of(trusting(port, ours))
    assert "certificate is not trusted" in said
    assert "MEMSIFT_REDIS_URL=rediss://...?ssl_ca_certs=/path/to/ca.crt" in said


async def test_a_worker_says_so_too_and_waits(valkey_url, queue, servers, tmp_path):
    ours, theirs = Authority(tmp_path, "ours"), Authority(tmp_path, "theirs")
    async with tls_front(plain_port(valkey_url), theirs.server_context()) as port:
        url = trusting(port, ours)

        def start():
            with pytest.raises(AssertionError):
                servers.worker(url, queue, seen_by=url, patience_s=8)
            return "\n".join(servers.children[-1].last_lines(200))

        lines = await asyncio.to_thread(start)
        assert "no jobs are taken, Redis is away" in lines
        assert "ssl_ca_certs=/path/to/ca.crt" in lines
        await asyncio.to_thread(servers.stop)


async def test_a_certificate_for_another_name_is_refused(valkey_url, tmp_path):
    authority = Authority(tmp_path, "ours")
    async with tls_front(plain_port(valkey_url), authority.server_context(("other",), ())) as port:
        assert "certificate is not trusted" in await fault_of(trusting(port, authority))


async def test_an_authority_that_nobody_named_is_refused(valkey_url, tmp_path):
    authority = Authority(tmp_path, "ours")
    async with tls_front(plain_port(valkey_url), authority.server_context()) as port:
        assert "ssl_ca_certs" in await fault_of(f"rediss://127.0.0.1:{port}/0")
