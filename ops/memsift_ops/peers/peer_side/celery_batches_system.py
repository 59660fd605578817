"""celery-batches: the worker hands a list of requests to one task."""

from __future__ import annotations

import time
from typing import Any

from celery import Celery
from celery_batches import Batches

from .setup import BATCH_MAX, BATCH_S, BATCH_WAIT_S, RESULT_LIVES_S, URL, answered, check

app = Celery("bench", broker=URL, backend=URL)
app.conf.update(
    result_expires=RESULT_LIVES_S,
    # Its documentation: at least as many as a batch holds, or a batch never fills.
    worker_prefetch_multiplier=2 * BATCH_MAX,
    result_backend_thread_safe=bool(int(__import__("os").environ.get("TS", "0"))),
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
)


@app.task(name="rank", base=Batches, flush_every=BATCH_MAX, flush_interval=max(BATCH_WAIT_S, 0.001))
def rank(requests: list[Any]) -> None:
    """The task; it stores each result itself, as its documentation shows."""
    time.sleep(BATCH_S)
    for request in requests:
        app.backend.mark_as_done(request.id, answered(request.args[0]), request=request)


class CeleryBatchesSystem:
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


SYSTEM = CeleryBatchesSystem()
