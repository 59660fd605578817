"""The command lines of what memsift runs, and how to tell from outside that each is ready."""

from __future__ import annotations

import contextlib
import sys
import urllib.error
import urllib.request
from typing import Any

import redis
from pydantic import BaseModel, ConfigDict, ValidationError
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel

from memsift_schemas import redis_urls
from memsift_schemas.errors import SettingsError
from memsift_schemas.keys import worker_key
from memsift_schemas.redis_faults import REDIS_FAULTS

APP = "memsift_workers.app"
FLOWER_PORT = 5555
# A server on this machine or next to it answers in milliseconds.
ANSWER_S = 1.0


class WorkerInfo(BaseModel):
    """What a ready worker says of itself, under the Redis key `<queue>:worker:<hostname>`."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    runtime: str
    model: str
    strategy: str
    ranker: str
    pid: int


def worker_command(name: str, loglevel: str, app: str = APP) -> list[str]:
    """A worker's command line.

    Args:
        name: the worker's name before the `@` and the host's name.
        loglevel: DEBUG to CRITICAL.
        app: the module that holds its Celery app.
    """
    # Workers have nothing to tell each other: the queue is all that they share.
    quiet = ("--without-mingle", "--without-gossip")
    celery = (sys.executable, "-m", "celery", "-A", app)
    return [*celery, "worker", "-P", "solo", *quiet, "-l", loglevel, "-n", f"{name}@%h"]


def flower_command(port: int) -> list[str]:
    """Flower's command line. No `--broker-api`: with a `redis://` address there it aborts."""
    celery = (sys.executable, "-m", "celery", "-A", APP)
    return [*celery, "flower", "--address=127.0.0.1", f"--port={port}"]


def server_answers(url: str) -> bool:
    """Whether a Redis or Valkey server answers a PING there.

    Raises:
        SettingsError: the URL cannot be read.
    """
    try:
        with client(url) as connected:
            return bool(connected.ping())
    except REDIS_FAULTS:
        return False


def ready_workers(url: str, queue: str) -> list[WorkerInfo]:
    """The workers of this queue that are ready; none when the server does not answer.

    Raises:
        SettingsError: the URL cannot be read.
    """
    with contextlib.suppress(*REDIS_FAULTS), client(url) as connected:
        return [info for raw in cards(connected, queue).values() if (info := _info(raw)) is not None]
    return []


def cards(connected: Any, queue: str) -> dict[str, Any]:
    """What each worker of a queue wrote of itself, by hostname; found by `SCAN`, also where no index is.

    Raises:
        RedisError: Redis is away.
    """
    keys = sorted(connected.scan_iter(match=literal(worker_key(queue, "")) + "*", count=1_000))
    found = connected.mget(keys) if keys else []
    start = len(worker_key(queue, ""))
    # A key may have expired since the scan.
    return {key.decode()[start:]: raw for key, raw in zip(keys, found, strict=True) if raw is not None}


def gateway_command(port: int) -> list[str]:
    """The HTTP gateway's command line."""
    return [sys.executable, "-m", "memsift_ops", "gateway", f"--port={port}"]


def flower_answers(port: int) -> bool:
    """Whether Flower serves its health check on this loopback port."""
    return answers_http(port, "/healthcheck")


def answers_http(port: int, path: str) -> bool:
    """Whether a server on this loopback port answers this path with 200."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=ANSWER_S) as answer:
            return bool(answer.status == 200)  # noqa: PLR2004
    except (urllib.error.URLError, OSError):
        return False


def _info(raw: Any) -> WorkerInfo | None:
    # An older release may have written less.
    try:
        return WorkerInfo.model_validate_json(raw)
    except ValidationError:
        return None


def literal(text: str) -> str:
    """The text as a Redis glob that matches nothing else."""
    return "".join(f"\\{char}" if char in "*?[]\\" else char for char in text)


def client(url: str) -> Any:
    """A Redis client that gives up after `ANSWER_S`, for any URL that memsift reads.

    Raises:
        SettingsError: the URL cannot be read.
    """
    options: dict[str, Any] = {
        "socket_timeout": ANSWER_S,
        "socket_connect_timeout": ANSWER_S,
        "retry": Retry(NoBackoff(), 0),
    }
    try:
        if redis_urls.is_cluster(url):
            return redis.RedisCluster.from_url(redis_urls.cluster_url(url), **options)
        if redis_urls.scheme(url) not in redis_urls.SENTINEL_SCHEMES:
            return redis.Redis.from_url(url, **options)
        read = redis_urls.parse_sentinel(url)
    except ValueError:
        # The URL may hold a password, so it is not repeated here.
        schemes = ", ".join(redis_urls.SCHEMES)
        raise SettingsError(f"MEMSIFT_REDIS_URL: must be a URL with {schemes} before ://") from None
    data = dict(redis.connection.parse_url(read.data_url))  # type: ignore[no-untyped-call]
    secure = {"ssl": True} if data.pop("connection_class", None) is not None else {}
    reached = {**options, **redis_urls.sentinel_options(read)}
    sentinels = Sentinel(read.sentinels, sentinel_kwargs=reached)  # type: ignore[no-untyped-call]
    placed = {name: value for name, value in data.items() if name not in {"host", "port"}}
    return sentinels.master_for(  # type: ignore[no-untyped-call]
        read.master, **placed, **secure, **options
    )
