"""The Redis or Valkey server: version, memory, disk, speed, clock."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from redis.exceptions import NoPermissionError, ResponseError

from memsift_ops.doctor.finding import Finding, fault, ok, skipped, warning
from memsift_schemas.clock import Clock

# BLMPOP, which takes a batch at once, came with 7.0.
OLDEST = (7, 0)
PINGS = 20
# A call makes two round trips and its worker two more; the whole of it has 300-500 ms.
SLOW_MS, TOO_SLOW_MS = 5.0, 50.0
# Deadlines are on the server's clock and do not mind; "yesterday" in a question, logs and certificates do.
SKEW_S = 0.5
NO_DISK = 'CONFIG SET save "" and CONFIG SET appendonly no, and the same in redis.conf (see ops/redis.conf)'
AS_OPERATOR = "name a user who may (memsift-operator in ops/redis-acl.conf) by MEMSIFT_OPERATOR_URL"


def look(client: Any, clock: Clock) -> Iterator[Finding]:
    """All that the server says of itself.

    Args:
        client: connected, with an operator's rights.
        clock: this machine's.

    Raises:
        RedisError: it went away meanwhile.
    """
    try:
        said = _first_node(client.info())
    except NoPermissionError:
        yield skipped("redis.version", "the user may not ask INFO", AS_OPERATOR)
    else:
        yield _version(said)
        yield from _memory(said)
        yield _disk(client, said)
    yield _latency(client, clock)
    yield _skew(client, clock)


def _first_node(said: dict[str, Any]) -> dict[str, Any]:
    """A Cluster answers for each node; they are set up alike."""
    nodes = list(said.values())
    return nodes[0] if nodes and isinstance(nodes[0], dict) and "redis_version" in nodes[0] else said


def _version(said: dict[str, Any]) -> Finding:
    speaks = str(said["redis_version"])
    name = f"Valkey {said['valkey_version']}" if "valkey_version" in said else f"Redis {speaks}"
    if tuple(int(part) for part in speaks.split(".")[:2]) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        return fault("redis.version", f"{name} has no BLMPOP", f"run Redis or Valkey {needed} or newer")
    return ok("redis.version", name)


def _memory(said: dict[str, Any]) -> Iterator[Finding]:
    policy = said.get("maxmemory_policy", "noeviction")
    if policy == "noeviction":
        yield ok("redis.eviction", "a full server refuses new jobs, which fall back at once")
    else:
        yield fault(
            "redis.eviction",
            f"maxmemory-policy is {policy}: a full server throws away jobs and replies that are waited for",
            "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf",
        )
    most, used = int(said.get("maxmemory", 0)), int(said["used_memory"])
    if not most:
        yield warning(
            "redis.memory", "maxmemory is not set: jobs may fill the machine", "CONFIG SET maxmemory 512mb"
        )
    elif used > 0.8 * most:
        yield warning(
            "redis.memory",
            f"{used / most:.0%} of maxmemory is used",
            "find out who fills it (redis-cli --bigkeys), or give it more",
        )
    else:
        yield ok("redis.memory", f"{used / 2**20:.0f} of {most / 2**20:.0f} MiB are used")


def _disk(client: Any, said: dict[str, Any]) -> Finding:
    check = "redis.persistence"
    if int(said.get("aof_enabled", 0)):
        return fault(check, "appendonly is on: every memory in a job is written to the disk", NO_DISK)
    try:
        save = client.config_get("save").get("save", "")
    except ResponseError:
        save = None
    if save:
        return fault(
            check, f"snapshots are on (save {save}): memories that wait are written to the disk", NO_DISK
        )
    if int(said.get("rdb_saves", 0)):
        return fault(check, "the server has written a snapshot since it started", NO_DISK)
    if save is None:
        return ok(check, "no write so far; the user may not ask whether snapshots are planned")
    return ok(check, "nothing is written to the disk")


def _latency(client: Any, clock: Clock) -> Finding:
    took = []
    for _ in range(PINGS):
        began = clock.monotonic()
        client.ping()
        took.append((clock.monotonic() - began) * 1e3)
    median = statistics.median(took)
    told = f"a round trip takes {median:.2f} ms (median of {PINGS}, slowest {max(took):.2f})"
    if median <= SLOW_MS:
        return ok("redis.latency", told)
    remedy = "run Redis in the same data centre as frontends and workers, on a machine that is not busy"
    return (fault if median > TOO_SLOW_MS else warning)("redis.latency", told, remedy)


def _skew(client: Any, clock: Clock) -> Finding:
    """Seconds that this machine's clock is ahead of the server's, to half a round trip."""
    before = clock.time()
    seconds, microseconds = client.time()
    ahead = (before + clock.time()) / 2 - (seconds + microseconds / 1e6)
    told = f"this machine's clock is {abs(ahead):.3f} s {'ahead of' if ahead > 0 else 'behind'} the server's"
    if abs(ahead) < SKEW_S:
        return ok("clock.skew", told)
    return warning("clock.skew", told, "let both machines follow NTP (chronyc tracking, timedatectl)")
