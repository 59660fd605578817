"""Plain Celery: a task in a thread each, results in Redis, `AsyncResult.get` in the frontend's threads."""

from __future__ import annotations

from typing import Any

from celery import Celery

from .runtime import ThreadedRuntime
from .setup import AT_ONCE, RESULT_LIVES_S, URL, check

app = Celery("bench", broker=URL, backend=URL)
app.conf.update(
    task_serializer="json",
    result_serializer="json",
    result_expires=RESULT_LIVES_S,
    task_acks_late=False,
    # One message for each thread waits in the worker: none starves, none waits behind a busy one.
    worker_prefetch_multiplier=1,
    result_backend_thread_safe=bool(int(__import__("os").environ.get("TS", "0"))),
    broker_pool_limit=AT_ONCE,
    redis_max_connections=4 * AT_ONCE,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
)
_runtime = ThreadedRuntime()


@app.task(name="rank")
def rank(job: dict[str, Any]) -> dict[str, Any]:
    """The task."""
    return _runtime.rank(job)


class CelerySystem:
    """`delay(...).get()`."""

    def open(self) -> None:
        """The first call connects."""

    def call(self, job: dict[str, Any]) -> bool:
        """Enqueue and wait."""
        check(job, rank.delay(job).get(timeout=30))
        return True

    def enqueue(self, job: dict[str, Any]) -> None:
        """Enqueue only."""
        rank.delay(job)

    def counted(self) -> tuple[str, str]:
        """A key for each result."""
        return "keys", "celery-task-meta-*"


SYSTEM = CelerySystem()
