"""Remote control: what `celery inspect` and Flower see of a worker whose jobs Celery does not consume."""

from __future__ import annotations

from typing import Any

from celery.worker.control import inspect_command
from kombu import entity


def drained_queue(queue: str) -> None:
    """Make `inspect active_queues` name the drained list, so that Flower shows its length.

    In the form in which Celery tells of queues that it consumes; Flower's page of a worker needs every field.
    """
    kombu: Any = entity  # has no types
    drained = kombu.Queue(queue, kombu.Exchange("", "direct"), routing_key=queue).as_dict(recurse=True)

    @inspect_command(name="active_queues", alias="dump_active_queues")  # type: ignore[untyped-decorator]
    def active_queues(state: Any) -> list[dict[str, Any]]:  # noqa: ARG001  # Celery passes it
        """List the queue that this worker drains."""
        return [drained]
