"""Sentinel and Cluster: jobs are ranked, and again after the master was killed, without a restart."""

import asyncio
import contextlib
import os
import signal
import time

import pytest
from redis import Redis
from redis.exceptions import RedisError

from memsift_ops import services, valkey
from memsift_producer import Reranker
from memsift_schemas import Source
from tests.integration.servers import answers, until
from tests.samples import memories

pytestmark = [pytest.mark.stack, pytest.mark.timeout(180)]

TAGGED = "{memsift.test}"


def local(port):
    return f"redis://127.0.0.1:{port}/0"


def server(servers, *mode):
    # A cluster's nodes talk to each other on a port 10,000 higher.
    port = next(port for port in iter(valkey.free_port, 0) if port < 55_000 and valkey.is_free(port + 10_000))
    child = servers.valkey(port, mode=("--save", "", "--repl-diskless-sync-delay", "0", *mode))
    until(lambda: answers(local(port)), child=child)
    return port, child


async def ranked(reranker, within_s=30.0):
    """Ask until the model answers; how many calls fell back before, and none raised or was late."""
    until_ = time.monotonic() + within_s
    fell_back = 0
    while time.monotonic() < until_:
        reranking = await reranker.rerank(query="Where is the key?", memories=memories(4))
        if reranking.source is Source.MODEL:
            return fell_back
        fell_back += 1
        await asyncio.sleep(0.05)
    raise AssertionError(f"no answer of the model, last cause {reranking.cause}")


def kill(child):
    os.killpg(child.pid, signal.SIGKILL)
    until(lambda: child.returncode is not None)


class Watched:
    """Two servers and a Sentinel that watches them."""

    def __init__(self, servers, folder):
        self.master, self.master_process = server(servers)
        self.replica, _ = server(servers, "--replicaof", f"127.0.0.1 {self.master}")
        self.port = valkey.free_port()
        config = folder / "sentinel.conf"
        config.write_text(
            f"port {self.port}\nbind 127.0.0.1\ndir {folder}\n"
            f"sentinel monitor mymaster 127.0.0.1 {self.master} 1\n"
            "sentinel down-after-milliseconds mymaster 1000\n"
            "sentinel failover-timeout mymaster 5000\n"
        )
        child = servers.start("sentinel", [valkey.command(0)[0], str(config), "--sentinel"])
        until(lambda: answers(local(self.port)), child=child)
        self.client = Redis(port=self.port, socket_timeout=2)
        until(lambda: self.client.sentinel_slaves("mymaster"), child=child)

    @property
    def url(self):
        # One Sentinel that does not exist, too: the next one is asked.
        return f"sentinel://127.0.0.1:1,127.0.0.1:{self.port}/mymaster/0"

    def present(self):
        return self.client.sentinel_get_master_addr_by_name("mymaster")[1]


async def test_both_sides_follow_sentinel_to_the_new_master(servers, tmp_path, queue):
    """Given a worker and a producer at work, when the master is killed, then both find the new one."""
    watched = await asyncio.to_thread(Watched, servers, tmp_path)
    worker = await asyncio.to_thread(servers.worker, watched.url, queue)
    async with Reranker.from_url(watched.url, queue=queue, deadline_ms=400) as reranker:
        await ranked(reranker)
        await asyncio.to_thread(kill, watched.master_process)
        await ranked(reranker)
        assert watched.present() == watched.replica
        new = local(watched.replica)
        await asyncio.to_thread(until, lambda: services.ready_workers(new, queue))
    assert worker.returncode is None
    # Celery's own part has followed too: it answers over the new master.
    await asyncio.to_thread(until, lambda: Redis.from_url(new).pubsub_numpat() > 0, 60)
    await asyncio.to_thread(servers.stop)


async def test_both_sides_leave_a_master_that_was_demoted_and_lives_on(servers, tmp_path, queue):
    """Given a planned failover, when the old master becomes a replica, then nobody stays on it."""
    watched = await asyncio.to_thread(Watched, servers, tmp_path)
    await asyncio.to_thread(servers.worker, watched.url, queue, seen_by=local(watched.master))
    async with Reranker.from_url(watched.url, queue=queue, deadline_ms=400) as reranker:
        await ranked(reranker)
        await asyncio.to_thread(watched.client.sentinel_failover, "mymaster")
        await asyncio.to_thread(until, lambda: watched.present() == watched.replica)
        old = Redis(port=watched.master, socket_timeout=2)
        await asyncio.to_thread(until, lambda: old.role()[0] == b"slave")
        await ranked(reranker)
        assert await ranked(reranker) == 0
    await asyncio.to_thread(servers.stop)


class Cluster:
    """Three nodes that share the slots, and one replica of the queue's node."""

    MODE = (
        "--cluster-enabled",
        "yes",
        "--cluster-node-timeout",
        "1000",
        "--cluster-config-file",
        "nodes.conf",
    )

    def __init__(self, servers):
        nodes = [server(servers, *self.MODE) for _ in range(4)]
        self.ports = [port for port, _ in nodes]
        self.processes = dict(nodes)
        self.clients = {port: Redis(port=port, socket_timeout=2) for port in self.ports}
        first, second, third, replica = self.ports
        slots = {first: (0, 5460), second: (5461, 10922), third: (10923, 16383)}
        for port, (begin, end) in slots.items():
            self.clients[port].execute_command("CLUSTER", "ADDSLOTSRANGE", begin, end)
        for port in self.ports[1:]:
            self.clients[first].execute_command("CLUSTER", "MEET", "127.0.0.1", port)
        until(lambda: all(self._knows(port) == 4 for port in self.ports))
        slot = self.clients[first].execute_command("CLUSTER", "KEYSLOT", TAGGED)
        self.home = next(port for port, (begin, end) in slots.items() if begin <= slot <= end)
        name = self.clients[self.home].execute_command("CLUSTER", "MYID")
        until(lambda: self._replicate(replica, name))
        self.replica = replica
        until(
            lambda: (
                self._ok(first) and self.clients[replica].info("replication")["master_link_status"] == "up"
            )
        )

    def _knows(self, port):
        return int(self._info(port)["cluster_known_nodes"])

    def _ok(self, port):
        return self._info(port)["cluster_state"] == "ok"

    def _copied(self, port):
        return self.clients[port].info("replication")["master_link_status"] == "up"

    def _info(self, port):
        raw = self.clients[port].execute_command("CLUSTER", "INFO")
        if isinstance(raw, dict):
            return raw
        return dict(line.split(":") for line in raw.decode().split())

    def _replicate(self, port, name):
        with contextlib.suppress(RedisError):
            return bool(self.clients[port].execute_command("CLUSTER", "REPLICATE", name))
        return False

    @property
    def url(self):
        # A node that is not the queue's: the client finds that by itself, also once it has been killed.
        other = next(port for port in self.ports if port not in {self.home, self.replica})
        return f"redis+cluster://127.0.0.1:{other}"


async def test_a_cluster_serves_jobs_and_survives_the_loss_of_the_queues_node(servers, valkey_url):
    """Given Celery on a server of its own, when the queue's node is killed, then its replica serves."""
    cluster = await asyncio.to_thread(Cluster, servers)

    worker = await asyncio.to_thread(servers.worker, cluster.url, TAGGED, broker_url=valkey_url)
    async with Reranker.from_url(cluster.url, queue=TAGGED, deadline_ms=400) as reranker:
        await ranked(reranker)
        strangers = {
            key
            for port in cluster.ports
            if port not in {cluster.home, cluster.replica}
            for key in cluster.clients[port].keys("*")
        }
        assert strangers == set(), "all keys of a queue are on one node"
        await asyncio.to_thread(kill, cluster.processes[cluster.home])
        await ranked(reranker)
        await asyncio.to_thread(until, lambda: services.ready_workers(cluster.url, TAGGED))
    assert worker.returncode is None
    await asyncio.to_thread(servers.stop)
