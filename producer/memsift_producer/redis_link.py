"""How the producer reaches Redis: short timeouts, no retries that would outlast a deadline."""

from __future__ import annotations

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from memsift_schemas.clock import ServerClock
from memsift_schemas.errors import SettingsError

# How long one read may hang before the connection counts as half-open and is replaced.
SOCKET_TIMEOUT_S = 2.0
CONNECT_TIMEOUT_S = 1.0
# Redis itself ends a blocking pop after this long, so it must be below SOCKET_TIMEOUT_S.
BLOCK_S = 1.0

# What redis-py raises when the server is away, full, or answers nonsense.
REDIS_FAULTS = (RedisError, OSError)


def connect(url: str) -> Redis:
    """A client with one connection, which is opened on first use.

    One retry replaces a connection that the server closed while it was idle; waiting longer is the
    caller's business, who knows the deadline.

    Raises:
        SettingsError: the URL cannot be read.
    """
    try:
        return Redis.from_url(
            url,
            single_connection_client=True,
            socket_timeout=SOCKET_TIMEOUT_S,
            socket_connect_timeout=CONNECT_TIMEOUT_S,
            socket_keepalive=True,
            retry=Retry(NoBackoff(), 1),
            client_name="memsift-producer",
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
