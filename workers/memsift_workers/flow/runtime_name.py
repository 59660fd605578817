"""What Redis calls a runtime: the same for all workers that ask it, and no other."""

from __future__ import annotations

import hashlib

from memsift_schemas.settings import WorkerSettings


def digest(identity: str) -> str:
    """A name of 16 letters; hashed because a URL may hold a password."""
    return hashlib.blake2b(identity.encode(), digest_size=8).hexdigest()


def own_runtime(settings: WorkerSettings, hostname: str) -> str:
    """The runtime whose own list a worker drains; empty when it drains the queue alone.

    An embedded runtime is its worker's own, and keeps its name when that is restarted. Where jobs are rescued
    a pop must move what it takes in one step, and Redis can wait for one list alone with that (`BLMOVE`).

    Args:
        settings: the worker's.
        hostname: the worker's name.
    """
    if not settings.uses_runtime or settings.rescue:
        return ""
    return runtime_name(settings, hostname)


def runtime_name(settings: WorkerSettings, worker: str) -> str:
    """Who holds the KV: a server that workers share, or the engine of this worker.

    Args:
        settings: the worker's.
        worker: what tells it from others.
    """
    return digest(settings.sglang_url if settings.runtime == "sglang" else worker)
