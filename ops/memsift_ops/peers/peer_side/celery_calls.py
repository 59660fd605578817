"""How a frontend calls a Celery task, whoever runs it."""

from __future__ import annotations

from typing import Any

from .setup import check


class CelerySystem:
    """`delay(...).get()`.

    Args:
        task: the task.
    """

    def __init__(self, task: Any) -> None:
        self._task = task

    def open(self) -> None:
        """The first call connects."""

    def call(self, job: dict[str, Any]) -> bool:
        """Enqueue and wait."""
        check(job, self._task.delay(job).get(timeout=30))
        return True

    def enqueue(self, job: dict[str, Any]) -> None:
        """Enqueue only."""
        self._task.delay(job)

    def counted(self) -> tuple[str, str]:
        """A key for each result."""
        return "keys", "celery-task-meta-*"
