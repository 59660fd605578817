"""Names of the Redis keys that more than one side uses; all begin with the queue's name.

A queue named in braces, such as `{memsift}.rerank`, puts all of them into one slot of a Redis Cluster.
"""

from __future__ import annotations

from hashlib import blake2b

# A queue that nobody drains or fills goes away this long after its last job's deadline: it holds memories.
QUEUE_TTL_S = 60.0


def breaker_key(queue: str) -> str:
    """The hash in which all frontends keep the circuit breaker's state."""
    return f"{queue}:breaker"


def cancel_key(queue: str, job_id: str) -> str:
    """The key whose presence tells a worker that nobody waits for this job any more."""
    return f"{queue}:cancel:{job_id}"


def deck_key(queue: str, user: str, session: str) -> str:
    """The session's deck: which memories its prompt shows, and in which order."""
    return f"{queue}:deck:{digest(user)}:{digest(session)}"


def decks_key(queue: str, user: str) -> str:
    """The set of the keys of a user's decks."""
    return f"{queue}:decks:{digest(user)}"


def forgotten_key(queue: str, user: str) -> str:
    """The set of ids that no deck of the user may hold for now."""
    return f"{queue}:forgotten:{digest(user)}"


def own_key(queue: str, runtime: str) -> str:
    """The list of the jobs whose session's KV this runtime holds; all workers that ask it drain it.

    Args:
        queue: the queue.
        runtime: the name that a worker's card gives it.
    """
    return f"{queue}:own:{runtime}"


def own_lists_key(queue: str) -> str:
    """The sorted set of runtimes' names by when a worker last drained their own lists, in unix seconds.

    From it others know that a worker that was killed had one.
    """
    return f"{queue}:own"


def warm_key(queue: str, runtime: str = "") -> str:
    """The list of warm-ups, which are popped when nothing else is to be done; `runtime` as in `own_key`."""
    return f"{queue}:warm:{runtime}" if runtime else f"{queue}:warm"


def picked_key(queue: str, job_id: str) -> str:
    """What a call picked, by ids, for the feedback on it."""
    return f"{queue}:picked:{job_id}"


def hits_key(queue: str, hour: int) -> str:
    """The hash of an hour's counts of feedback; `hour` is unix seconds / 3600."""
    return f"{queue}:hits:{hour}"


def shadow_key(queue: str) -> str:
    """The list of answered jobs' copies, for the shadow ranker."""
    return f"{queue}:shadow"


def shadow_tally_key(queue: str) -> str:
    """The hash of what the shadow ranker's rankings came to."""
    return f"{queue}:shadow:tally"


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


def digest(name: str) -> str:
    """Names of users and sessions may say who somebody is, and keys show up in logs of slow commands."""
    return blake2b(name.encode(), digest_size=12).hexdigest()
