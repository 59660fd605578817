"""What `celery inspect` and Flower see: the drained lists, the jobs being ranked, the drain's numbers."""

from __future__ import annotations

from typing import Any

from celery.worker.control import inspect_command
from kombu import entity

from memsift_schemas.keys import own_key
from memsift_schemas.settings import WorkerSettings
from memsift_workers.control.reaching import answer, no, steer
from memsift_workers.drain.service import Unreachable
from memsift_workers.flow.runtime_name import own_runtime


def install(settings: WorkerSettings) -> None:
    """Register them; those of Celery's names replace Celery's own, which know nothing of the drain."""

    @inspect_command(name="active_queues", alias="dump_active_queues")  # type: ignore[untyped-decorator]
    def active_queues(state: Any) -> list[dict[str, Any]]:
        """List the queue that this worker drains, and its runtime's own list; none while it is paused."""
        try:
            if steer(state, lambda steering: steering.stats())["state"] == "paused":
                return []
        except Unreachable:
            pass  # Flower needs the names for its page of the broker
        runtime = own_runtime(settings, state.hostname)
        own = [own_key(settings.queue, runtime)] if runtime else []
        return [_told(name) for name in (settings.queue, *own)]

    @inspect_command(name="active", alias="dump_active")  # type: ignore[untyped-decorator]
    def active(state: Any, **_: Any) -> Any:
        """List the jobs that are being ranked: ids and counts."""
        try:
            return steer(state, lambda steering: steering.active(state.hostname))
        except Unreachable as error:
            return no(str(error))

    @inspect_command()  # type: ignore[untyped-decorator]
    def memsift_stats(state: Any) -> Any:
        """The drain's state, limits and numbers."""
        return answer(state, lambda steering: steering.stats())


def _told(name: str) -> dict[str, Any]:
    """In the form in which Celery tells of queues that it consumes; Flower's page needs every field."""
    kombu: Any = entity  # has no types
    queue = kombu.Queue(name, kombu.Exchange("", "direct"), routing_key=name)
    return queue.as_dict(recurse=True)  # type: ignore[no-any-return]
