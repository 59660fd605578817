"""What `memsift status` tells: the breaker that all frontends share, the queue, and who works on it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from memsift_ops import services
from memsift_schemas.keys import breaker_key, own_key, own_lists_key
from memsift_schemas.message import sent_at
from memsift_schemas.settings import ProducerSettings


@dataclass(frozen=True, slots=True)
class BreakerStatus:
    """The breaker.

    Attributes:
        state: `closed`, `open`, or `probing` while a probe is out.
        reason: why it is open: `failures` or `slow`.
        since_s: seconds since it opened or closed; None if it never did.
        failures: failures in a row when it opened, or up to now.
        opened: how often it has opened since its key was made.
        next_probe_s: seconds until a probe may be sent, while it is open.
    """

    state: str
    reason: str | None
    since_s: float | None
    failures: int
    opened: int
    next_probe_s: float | None


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """The queue.

    Attributes:
        name: the Redis list.
        depth: jobs that wait, in it and in the own lists.
        oldest_s: seconds that the oldest one has waited; None for an empty queue, and where its sender is not
            memsift's.
        own: how many of them wait in each runtime's own list, by the name that workers' cards give it.
    """

    name: str
    depth: int
    oldest_s: float | None
    own: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Status:
    """All of it.

    Attributes:
        breaker: the breaker.
        queue: the queue.
        workers: the card of each worker that is present, by hostname.
        troubles: what is wrong, one sentence each; empty when all is well.
    """

    breaker: BreakerStatus
    queue: QueueStatus
    workers: dict[str, dict[str, Any]]
    troubles: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"healthy": not self.troubles, **asdict(self)}


def read(url: str, queue: str, *, deadline_s: float, queue_max: int) -> Status:
    """Look once.

    Args:
        url: the Redis server.
        queue: the queue.
        deadline_s: a job that has waited for longer than this is late.
        queue_max: a queue of this many jobs is full.

    Raises:
        RedisError: Redis is away.
        SettingsError: the URL cannot be read.
    """
    with services.client(url) as client:
        seconds, microseconds = client.time()
        now = seconds + microseconds / 1e6
        breaker = _breaker(client.hgetall(breaker_key(queue)), now)
        waiting = _queue(client, queue, now)
        workers = {name: _card(raw) for name, raw in services.cards(client, queue).items()}
    return Status(breaker, waiting, workers, _troubles(breaker, waiting, workers, deadline_s, queue_max))


def read_as(frontend: ProducerSettings) -> Status:
    """Look once, with the eyes of a frontend; raises as `read`."""
    return read(
        frontend.redis_url,
        frontend.queue,
        deadline_s=frontend.deadline_ms / 1e3,
        queue_max=frontend.queue_max,
    )


def _breaker(fields: dict[bytes, bytes], now: float) -> BreakerStatus:
    said = {name.decode(): value.decode() for name, value in fields.items()}
    is_open = said.get("state") == "open"
    probing = is_open and float(said.get("probe_until", 0)) / 1e3 > now
    return BreakerStatus(
        state="probing" if probing else "open" if is_open else "closed",
        reason=said.get("reason") if is_open else None,
        since_s=round(now - float(said["since"]) / 1e3, 3) if "since" in said else None,
        failures=int(said.get("failures", 0)),
        opened=int(said.get("opened", 0)),
        next_probe_s=max(round(float(said["next_probe"]) / 1e3 - now, 3), 0.0) if is_open else None,
    )


def _queue(client: Any, queue: str, now: float) -> QueueStatus:
    runtimes = [name.decode() for name in client.zrange(own_lists_key(queue), 0, -1)]
    lists = [queue, *(own_key(queue, name) for name in runtimes)]
    depths = [client.llen(key) for key in lists]
    ages = [_age(client.lindex(key, -1), now) for key in lists]
    oldest = max((age for age in ages if age is not None), default=None)
    return QueueStatus(queue, sum(depths), oldest, dict(zip(runtimes, depths[1:], strict=True)))


def _age(oldest: bytes | None, now: float) -> float | None:
    sent = sent_at(oldest) if oldest is not None else None
    return round(max(now - sent, 0.0), 3) if sent is not None else None


def _card(raw: bytes | str) -> dict[str, Any]:
    try:
        card = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return {}
    return card if isinstance(card, dict) else {}


def _troubles(
    breaker: BreakerStatus,
    queue: QueueStatus,
    workers: dict[str, dict[str, Any]],
    deadline_s: float,
    queue_max: int,
) -> tuple[str, ...]:
    found = []
    if breaker.state != "closed":
        found.append("the breaker is open: every call falls back to the prefilter")
    if not workers:
        found.append("no worker is present: start one with `memsift worker`")
    elif all(card.get("paused") is True for card in workers.values()):
        found.append("every worker is paused: `memsift control resume`")
    if queue.oldest_s is not None and queue.oldest_s > deadline_s:
        found.append(f"the oldest job has waited for longer than a call's {deadline_s:g} s")
    if queue.depth >= queue_max:
        found.append(f"the queue is full: it holds {queue_max} jobs (MEMSIFT_QUEUE_MAX)")
    return tuple(found)
