"""dramatiq with results: a thread for each task, `get_result(block=True)` in the frontend's threads."""

from __future__ import annotations

from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

from .runtime import ThreadedRuntime
from .setup import RESULT_LIVES_S, URL, check

broker = RedisBroker(url=URL)
broker.add_middleware(Results(backend=RedisBackend(url=URL)))
dramatiq.set_broker(broker)
_runtime = ThreadedRuntime()


@dramatiq.actor(actor_name="rank", store_results=True, result_ttl=RESULT_LIVES_S * 1000, max_retries=0)
def rank(job: dict[str, Any]) -> dict[str, Any]:
    """The task."""
    return _runtime.rank(job)


class DramatiqSystem:
    """`send(...).get_result(block=True)`."""

    def open(self) -> None:
        """The first call connects."""

    def call(self, job: dict[str, Any]) -> bool:
        """Enqueue and wait."""
        check(job, rank.send(job).get_result(block=True, timeout=30_000))
        return True

    def enqueue(self, job: dict[str, Any]) -> None:
        """Enqueue only."""
        rank.send(job)

    def counted(self) -> tuple[str, str]:
        """Jobs leave this hash when they are done."""
        return "hlen", "dramatiq:default.msgs"


SYSTEM = DramatiqSystem()
