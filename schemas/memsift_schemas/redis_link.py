"""How both sides reach Redis: short timeouts, and no retries that would outlast a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, cast

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel, SentinelConnectionPool
from redis.backoff import NoBackoff

from memsift_schemas import redis_urls
from memsift_schemas.clock import ServerClock
from memsift_schemas.errors import SettingsError
from memsift_schemas.redis_faults import REDIS_FAULTS, tell

__all__ = ["REDIS_FAULTS", "Pause", "connect", "end", "measure", "tell"]

# How long one read may hang before the connection counts as half-open and is replaced.
SOCKET_TIMEOUT_S = 2.0
CONNECT_TIMEOUT_S = 1.0
# Redis itself ends a blocking pop after this long, so it must be below SOCKET_TIMEOUT_S. A stop is noticed as
# late as this.
BLOCK_S = 0.5
# How often the offset to the server's clock is measured again; clocks drift by milliseconds in an hour.
MEASURE_EVERY_S = 60.0
# Behind Sentinels and in a Cluster no connection is kept for one caller: redis-py 8.1 reconnects such a one
# to the old master for ever (`send_packed_command` does not ask the Sentinels). A pool opens what it needs.
POOLED_CONNECTIONS = 8


def connect(url: str, *, client_name: str, connections: int, queue: str = "") -> Redis:
    """A client whose connections are opened on first use.

    One retry replaces a connection that the server closed while it was idle; waiting longer is the
    caller's business, who knows the deadline. After a failover the next try finds the new master.

    Args:
        url: any kind of `redis_urls`.
        client_name: what `CLIENT LIST` shows.
        connections: the most that are open at once; with 1, commands wait for each other. Behind Sentinels
            and per node of a Cluster at least `POOLED_CONNECTIONS`.
        queue: whose node tells the time, in a Cluster.

    Raises:
        SettingsError: the URL cannot be read.
    """
    options: dict[str, Any] = {
        "socket_timeout": SOCKET_TIMEOUT_S,
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
        "socket_keepalive": True,
        "retry": Retry(NoBackoff(), 1),
        "client_name": client_name,
    }
    try:
        pooled = {**options, "max_connections": max(connections, POOLED_CONNECTIONS)}
        if redis_urls.is_cluster(url):
            return cast(Redis, _cluster(url, queue, pooled))
        if redis_urls.scheme(url) in redis_urls.SENTINEL_SCHEMES:
            return Redis.from_pool(_sentinel_pool(url, pooled))
        single = connections == 1
        return Redis.from_url(url, single_connection_client=single, max_connections=connections, **options)
    except ValueError:
        # The URL may hold a password, so it is not repeated here.
        raise SettingsError(
            f"MEMSIFT_REDIS_URL: must be a URL with {', '.join(redis_urls.SCHEMES)} before ://"
        ) from None


def _sentinel_pool(url: str, options: dict[str, Any]) -> SentinelConnectionPool:
    """Connections to whichever server the Sentinels call the master when one is opened."""
    read = redis_urls.parse_sentinel(url)
    data: dict[str, Any] = {**parse_url(read.data_url)}
    for name in ("host", "port"):
        data.pop(name, None)
    if data.pop("connection_class", None) is not None:
        data["ssl"] = True
    waits = {name: options[name] for name in ("socket_timeout", "socket_connect_timeout", "socket_keepalive")}
    # Without a retry of its own, which by default waits for seconds: the next Sentinel is asked instead.
    reached = {**waits, "retry": Retry(NoBackoff(), 0), **redis_urls.sentinel_options(read)}
    sentinels = Sentinel(read.sentinels, sentinel_kwargs=reached)  # type: ignore[no-untyped-call]
    return SentinelConnectionPool(  # type: ignore[no-untyped-call]
        read.master, sentinels, **{**data, **options}
    )


class _Cluster(RedisCluster):
    """All nodes have clocks of their own: deadlines are written in that of the node that has the queue."""

    queue = ""

    async def time(self, **options: Any) -> Any:
        if not self.nodes_manager.nodes_cache:
            await self.initialize()
        return await super().time(target_nodes=self.get_node_from_key(self.queue), **options)


def _cluster(url: str, queue: str, options: dict[str, Any]) -> _Cluster:
    cluster: Any = _Cluster.from_url(redis_urls.cluster_url(url), **options)
    cluster.queue = queue
    return cast(_Cluster, cluster)


async def measure(redis: Redis, clock: ServerClock) -> None:
    """Set the clock by the server's `TIME`.

    Raises:
        RedisError: the server is away.
    """
    sent = clock.monotonic()
    seconds, microseconds = await redis.time()
    clock.measured(int(seconds) + int(microseconds) / 1e6, sent=sent, received=clock.monotonic())


async def end(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks that talk to Redis and wait until they have ended.

    Once is not enough: `asyncio.wait_for` of Python 3.11, which redis-py uses, loses a cancellation that
    arrives just as its own work is done (https://github.com/python/cpython/issues/86296).
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=0.1)


class Pause:
    """How long to wait before the next try: doubled after each fault, so that none becomes a busy loop."""

    FIRST_S = 0.05
    MOST_S = 1.0

    def __init__(self) -> None:
        self._next = self.FIRST_S

    def next(self) -> float:
        """Seconds to wait now."""
        seconds, self._next = self._next, min(self._next * 2, self.MOST_S)
        return seconds

    def reset(self) -> None:
        """A try worked."""
        self._next = self.FIRST_S
