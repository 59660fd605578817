"""Remote control: what `celery inspect` and Flower see of a worker whose jobs Celery does not consume."""

from __future__ import annotations

from typing import Any

from celery.worker.control import inspect_command


def drained_queue(queue: str) -> None:
    """Make `inspect active_queues` name the drained list, so that Flower's broker page shows its length."""

    @inspect_command(name="active_queues", alias="dump_active_queues")  # type: ignore[untyped-decorator]
    def active_queues(state: Any) -> list[dict[str, Any]]:  # noqa: ARG001  # Celery passes it
        """List the queue that this worker drains."""
        return [{"name": queue, "routing_key": queue, "exchange": {"name": "", "type": "direct"}}]
