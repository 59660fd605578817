"""celery-batches: the worker hands a list of requests to one task."""

from __future__ import annotations

import time
from typing import Any

from celery import Celery
from celery_batches import Batches

from .celery_calls import CelerySystem
from .setup import BATCH_MAX, BATCH_S, BATCH_WAIT_S, RESULT_LIVES_S, URL, answered

app = Celery("bench", broker=URL, backend=URL)
app.conf.update(
    result_expires=RESULT_LIVES_S,
    # Its documentation: at least as many as a batch holds, or a batch never fills.
    worker_prefetch_multiplier=2 * BATCH_MAX,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
)


@app.task(name="rank", base=Batches, flush_every=BATCH_MAX, flush_interval=max(BATCH_WAIT_S, 0.001))
def rank(requests: list[Any]) -> None:
    """The task; it stores each result itself, as its documentation shows."""
    time.sleep(BATCH_S)
    for request in requests:
        app.backend.mark_as_done(request.id, answered(request.args[0]), request=request)


SYSTEM = CelerySystem(rank)
