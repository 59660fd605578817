"""Names of the Redis keys that more than one side uses; all begin with the queue's name.

A queue named in braces, such as `{memsift}.rerank`, puts all of them into one slot of a Redis Cluster.
"""

from __future__ import annotations

# A queue that nobody drains or fills goes away this long after its last job's deadline: it holds memories.
QUEUE_TTL_S = 60.0


def breaker_key(queue: str) -> str:
    """The hash in which all frontends keep the circuit breaker's state."""
    return f"{queue}:breaker"


def cancel_key(queue: str, job_id: str) -> str:
    """The key whose presence tells a worker that nobody waits for this job any more."""
    return f"{queue}:cancel:{job_id}"


def reply_key(queue: str, name: str) -> str:
    """A process's list of replies; whoever knows its name can read and forge them."""
    return f"{queue}:reply:{name}"


def worker_key(queue: str, hostname: str) -> str:
    """A worker's card, which dies with it within seconds."""
    return f"{queue}:worker:{hostname}"


def workers_key(queue: str) -> str:
    """The sorted set of workers' hostnames by when each was last there, in unix seconds.

    A frontend finds the cards by it: looking for them by `SCAN` would go through every key of the server, and
    show it the names of other frontends' reply lists.
    """
    return f"{queue}:workers"
