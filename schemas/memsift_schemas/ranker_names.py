"""The names by which workers, jobs and settings call rankers."""

from __future__ import annotations

# What a worker can serve; `a>b` is a chain in which `a` prunes for `b`.
RANKERS = ("local", "jev", "clef", "nox", "decision")


def asks_runtime(ranker: str) -> bool:
    """Whether this ranker, or one in this chain such as `jev>local`, asks the runtime."""
    return "local" in ranker.split(">")
