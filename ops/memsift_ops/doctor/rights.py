"""Whether the user of `MEMSIFT_REDIS_URL` may do all that its side needs, without doing any of it.

Inside MULTI a server checks each command's rights as it queues it; DISCARD then throws all of them away
(https://redis.io/docs/latest/develop/using-commands/transactions/).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import redis
from redis.exceptions import NoPermissionError, ResponseError

from memsift_ops.doctor.finding import Finding, fault, ok, skipped
from memsift_schemas.keys import (
    breaker_key,
    cancel_key,
    hits_key,
    own_key,
    own_lists_key,
    picked_key,
    shadow_key,
    shadow_tally_key,
    worker_key,
    workers_key,
)

Side = Literal["worker", "frontend"]
Command = tuple[str, ...]

_NOBODY = "memsift-doctor"


def look(client: Any, queue: str, side: Side) -> Iterator[Finding]:
    """Try each command of one side.

    Args:
        client: connected as that side is.
        queue: the queue.
        side: whose rights these are.

    Raises:
        RedisError: the server went away meanwhile.
    """
    if isinstance(client, redis.RedisCluster):
        yield skipped("redis.rights", "not looked at in a Cluster", "compare with ops/redis-acl.conf")
        return
    try:
        denied = refused(client, needed(queue, side))
    except NoPermissionError:
        yield skipped(
            "redis.rights",
            "the user may not use MULTI, by which they are tried",
            "compare with ops/redis-acl.conf",
        )
        return
    if not denied:
        yield ok("redis.rights", f"the user may do all that a {side} needs")
    for command in denied:
        yield fault(
            "redis.rights",
            f"the user may not {command[0].upper()} {_keys_shown(command)}, which a {side} needs",
            "compare the user's rules with ops/redis-acl.conf",
        )


def needed(queue: str, side: Side) -> list[Command]:
    """One command for each right: the same kinds of keys as in `ops/redis-acl.conf`."""
    return _worker(queue) if side == "worker" else _frontend(queue)


def refused(client: Any, commands: Sequence[Command]) -> list[Command]:
    """Those that the user may not send.

    Args:
        client: a client of one server.
        commands: any that MULTI can queue; none is executed.
    """
    connection = client.connection_pool.get_connection()
    denied = []
    try:
        _ask(connection, "MULTI")
        for command in commands:
            try:
                _ask(connection, *command)
            except NoPermissionError:
                denied.append(command)
        try:
            _ask(connection, "DISCARD")
        except ResponseError:
            connection.disconnect()
    finally:
        client.connection_pool.release(connection)
    return denied


def _ask(connection: Any, *command: str) -> None:
    connection.send_command(*command)
    connection.read_response()


def _keys_shown(command: Command) -> str:
    """The first key, which is never a user's."""
    places = {"EVAL": 3, "BLMPOP": 3, "LMPOP": 2}
    at = places.get(command[0], 1)
    return command[at] if len(command) > at else ""


def _worker(queue: str) -> list[Command]:
    own = own_key(queue, _NOBODY)
    card = worker_key(queue, _NOBODY)
    return [
        ("TIME",),
        ("BLMPOP", "0.1", "1", queue, "RIGHT", "COUNT", "1"),
        ("BLMPOP", "0.1", "1", own, "RIGHT", "COUNT", "1"),
        ("LMPOP", "1", queue, "RIGHT", "COUNT", "1"),
        ("LPUSH", queue, ""),
        ("RPUSH", f"{queue}:reply:{_NOBODY}", ""),
        ("PEXPIRE", f"{queue}:reply:{_NOBODY}", "1"),
        ("SET", card, "", "EX", "1"),
        ("ZADD", workers_key(queue), "0", _NOBODY),
        ("ZADD", own_lists_key(queue), "0", _NOBODY),
        ("EXISTS", cancel_key(queue, _NOBODY)),
        ("MGET", f"{queue}:deck:{_NOBODY}"),
        ("SET", f"{queue}:deck:{_NOBODY}", "", "EX", "1"),
        ("SADD", f"{queue}:decks:{_NOBODY}", ""),
        ("MGET", f"{queue}:forgotten:{_NOBODY}"),
        ("HGET", f"{queue}:quarantine", ""),
        ("ZADD", f"{queue}:runtime:{_NOBODY}", "0", ""),
        ("ZADD", f"{queue}:rescue:{_NOBODY}", "0", ""),
        ("LPUSH", shadow_key(queue), ""),
        ("HINCRBY", shadow_tally_key(queue), "", "0"),
        ("EVAL", "return 1", "1", queue),
        # For metrics.
        ("INFO", "memory"),
        ("HGETALL", breaker_key(queue)),
        # Celery: its own queue, remote control, events.
        ("BRPOP", f"{queue}.celery", "1"),
        ("SADD", "_kombu.binding.celery.pidbox", ""),
        ("LPUSH", f"{_NOBODY}.celery.pidbox", ""),
        ("PUBLISH", "/0.celeryev/worker.heartbeat", ""),
        ("PUBLISH", "/0.celery.pidbox", ""),
    ]


def _frontend(queue: str) -> list[Command]:
    reply = f"{queue}:reply:{_NOBODY}"
    return [
        ("TIME",),
        ("LPUSH", queue, ""),
        ("LPUSH", own_key(queue, _NOBODY), ""),
        ("LPUSH", f"{queue}:warm", ""),
        ("LLEN", queue),
        ("LINDEX", queue, "-1"),
        ("PEXPIREAT", queue, "1"),
        ("BLMPOP", "0.1", "1", reply, "LEFT", "COUNT", "1"),
        ("SET", cancel_key(queue, _NOBODY), "", "EX", "1"),
        ("HGETALL", breaker_key(queue)),
        ("HSET", breaker_key(queue), "state", ""),
        ("MGET", worker_key(queue, _NOBODY)),
        ("ZRANGE", workers_key(queue), "0", "-1"),
        ("SMEMBERS", f"{queue}:decks:{_NOBODY}"),
        ("UNLINK", f"{queue}:deck:{_NOBODY}"),
        ("SET", f"{queue}:forgotten:{_NOBODY}", "", "EX", "1"),
        ("GETDEL", picked_key(queue, _NOBODY)),
        ("HINCRBY", hits_key(queue, 0), "", "0"),
        ("EVAL", "return 1", "1", queue),
    ]
