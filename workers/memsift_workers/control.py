"""Remote control: what `celery inspect` and Flower see of a worker whose jobs Celery does not consume."""

from __future__ import annotations

from typing import Any

from celery.worker.control import inspect_command
from kombu import entity

from memsift_schemas.keys import own_key
from memsift_schemas.settings import WorkerSettings
from memsift_workers.flow.runtime_name import own_runtime


def drained_queues(settings: WorkerSettings) -> None:
    """Make `inspect active_queues` name the drained lists, so that Flower shows their lengths.

    In the form in which Celery tells of queues that it consumes; Flower's page of a worker needs every field.
    """
    kombu: Any = entity  # has no types

    def told(name: str) -> dict[str, Any]:
        queue = kombu.Queue(name, kombu.Exchange("", "direct"), routing_key=name)
        return queue.as_dict(recurse=True)  # type: ignore[no-any-return]

    @inspect_command(name="active_queues", alias="dump_active_queues")  # type: ignore[untyped-decorator]
    def active_queues(state: Any) -> list[dict[str, Any]]:
        """List the queue that this worker drains, and its runtime's own list."""
        runtime = own_runtime(settings, state.hostname)
        own = [own_key(settings.queue, runtime)] if runtime else []
        return [told(name) for name in (settings.queue, *own)]
