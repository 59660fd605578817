"""Plain Celery: a task in a thread each, results in Redis, `AsyncResult.get` in the frontend's threads."""

from __future__ import annotations

from typing import Any

from celery import Celery

from .celery_calls import CelerySystem
from .runtime import ThreadedRuntime
from .setup import AT_ONCE, RESULT_LIVES_S, URL

app = Celery("bench", broker=URL, backend=URL)
app.conf.update(
    task_serializer="json",
    result_serializer="json",
    result_expires=RESULT_LIVES_S,
    task_acks_late=False,
    # One message for each thread waits in the worker: none starves, none waits behind a busy one.
    worker_prefetch_multiplier=1,
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


SYSTEM = CelerySystem(rank)
