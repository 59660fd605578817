"""rq without a fork for each job: one job after the other, since it has neither threads nor batches."""

from __future__ import annotations

import time
from typing import Any

from redis import Redis
from rq import Queue
from rq.serializers import JSONSerializer

from .setup import BATCH_S, RESULT_LIVES_S, URL, answered, check


def rank(job: dict[str, Any]) -> dict[str, Any]:
    """The task."""
    time.sleep(BATCH_S)
    return answered(job)


class RqSystem:
    """`enqueue(...)` and `latest_result`."""

    def __init__(self) -> None:
        self._queue = Queue(connection=Redis.from_url(URL), serializer=JSONSerializer)

    def open(self) -> None:
        """The first call connects."""

    def call(self, job: dict[str, Any]) -> bool:
        """Enqueue and wait."""
        result = self._enqueued(job).latest_result(timeout=30)
        check(job, result.return_value)
        return True

    def enqueue(self, job: dict[str, Any]) -> None:
        """Enqueue only."""
        self._enqueued(job)

    def _enqueued(self, job: dict[str, Any]) -> Any:
        return self._queue.enqueue(rank, job, result_ttl=RESULT_LIVES_S)

    def counted(self) -> tuple[str, str]:
        """A stream for each result."""
        return "keys", "rq:results:*"


SYSTEM = RqSystem()
