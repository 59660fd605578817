"""What a system's module must offer to be measured."""

from __future__ import annotations

from typing import Any, Protocol

Job = dict[str, Any]


class AsyncSystem(Protocol):
    """A client that is awaited."""

    async def open(self) -> None:
        """Connect."""

    async def call(self, job: Job) -> bool:
        """Enqueue a job and wait for its answer.

        Returns:
            Whether a worker answered; False where the client had to help itself.
        """

    async def enqueue(self, job: Job) -> None:
        """Enqueue a job that nobody waits for."""

    def counted(self) -> tuple[str, str]:
        """How to see in Redis how many of the enqueued jobs are done: a way of counting and its key."""


class BlockingSystem(Protocol):
    """A client whose calls block; the same, called from threads."""

    def open(self) -> None:
        """Connect."""

    def call(self, job: Job) -> bool:
        """See `AsyncSystem.call`."""

    def enqueue(self, job: Job) -> None:
        """See `AsyncSystem.enqueue`."""

    def counted(self) -> tuple[str, str]:
        """See `AsyncSystem.counted`."""
