"""How both sides reach Redis: short timeouts, and no retries that would outlast a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from memsift_schemas.clock import ServerClock
from memsift_schemas.errors import SettingsError

# How long one read may hang before the connection counts as half-open and is replaced.
SOCKET_TIMEOUT_S = 2.0
CONNECT_TIMEOUT_S = 1.0
# Redis itself ends a blocking pop after this long, so it must be below SOCKET_TIMEOUT_S. A stop is noticed as
# late as this.
BLOCK_S = 0.5

# What redis-py raises when the server is away, full, or answers nonsense.
REDIS_FAULTS = (RedisError, OSError)


def connect(url: str, *, client_name: str, connections: int) -> Redis:
    """A client whose connections are opened on first use.

    One retry replaces a connection that the server closed while it was idle; waiting longer is the
    caller's business, who knows the deadline.

    Args:
        url: `redis://`, `rediss://` or `unix://`.
        client_name: what `CLIENT LIST` shows.
        connections: the most that are open at once; with 1, commands wait for each other.

    Raises:
        SettingsError: the URL cannot be read.
    """
    try:
        return Redis.from_url(
            url,
            single_connection_client=connections == 1,
            max_connections=connections,
            socket_timeout=SOCKET_TIMEOUT_S,
            socket_connect_timeout=CONNECT_TIMEOUT_S,
            socket_keepalive=True,
            retry=Retry(NoBackoff(), 1),
            client_name=client_name,
        )
    except ValueError:
        # The URL may hold a password, so it is not repeated here.
        raise SettingsError("MEMSIFT_REDIS_URL: must be redis://, rediss:// or unix://") from None


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
