"""The drain inside a Celery worker: Celery gives the CLI, signals, remote control, heartbeats and Flower.

It is a step of the worker and not of its consumer, so that a lost connection of Celery's own, which restarts
the consumer, leaves the drain alone.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar

from celery import bootsteps, signals
from celery.platforms import EX_FAILURE
from celery.worker import state

from memsift_schemas import logs, otel
from memsift_schemas import settings as settings_module
from memsift_schemas.message import TASK_NAME
from memsift_schemas.settings import WorkerSettings
from memsift_workers.assembly import build_with_shadow
from memsift_workers.drain.events import EventStream
from memsift_workers.drain.service import DrainService, Unreachable

# How often a worker that is still loading its model looks whether it has been told to stop.
LOOK_EVERY_S = 0.2
# Celery ends within a second once the drain has, unless it waits for Redis.
CELERY_STOP_S = 3.0

# What the drain counts beside what became of each job.
_NO_JOBS = ("warm_", "poison_", "reply_lost")

log = logging.getLogger("memsift.worker")


class Drain(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery has no types
    """Starts before Celery's consumer, which blocks; stops first."""

    name = "Drain"
    requires: ClassVar[set[str]] = {"celery.worker.components:Pool"}

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        # Celery's banner is no line of a log.
        worker.quiet = worker.quiet or logs.is_json(settings_module.load(WorkerSettings).log_format)
        self._service: DrainService | None = None
        self._last_spans: Callable[[], None] = lambda: None
        self._connection: Any = None

    def start(self, worker: Any) -> None:
        """Load the model, then take jobs.

        Raises:
            Exception: why the worker can never take a job; Celery logs it and exits.
        """
        settings = settings_module.load(WorkerSettings)
        self._last_spans = otel.export("memsift-worker")
        self._connection = worker.app.connection_for_write()
        dispatcher = worker.app.events.Dispatcher(
            self._connection,
            hostname=worker.hostname,
            enabled=worker.app.conf.worker_send_task_events,
            buffer_group={"task"},
            # The stream says when to flush.
            buffer_limit=float("inf"),
            buffer_while_offline=False,
        )
        rankers, shadow = build_with_shadow(settings)
        self._service = DrainService(
            settings=settings,
            rankers=rankers,
            shadow=shadow,
            events=EventStream(dispatcher),
            hostname=worker.hostname,
            on_failure=_end_worker,
        )
        # Celery's loop may take a second or two to notice a SIGTERM; jobs must be left alone at once.
        signals.worker_shutting_down.connect(self._shutting_down)
        self._service.start()
        while not self._service.started.wait(LOOK_EVERY_S):
            if state.should_stop is not None or state.should_terminate is not None:
                return
        if self._service.failure is not None:
            raise self._service.failure

    @classmethod
    def of(cls, worker: Any) -> DrainService | None:
        """The drain of a Celery worker; None before it began and after it ended."""
        steps: dict[Any, Drain] = {type(step): step for step in worker.steps}
        step = steps.get(cls)
        return step._service if step else None

    def info(self, worker: Any) -> dict[str, Any]:
        """What `inspect stats` tells of the drain, beside and in the place of what Celery knows of itself.

        `memsift` is what `inspect memsift_stats` tells; `total` and `pool` are where Flower looks
        for jobs that ended and for the concurrency.
        """
        if self._service is None:
            return {"memsift": {"error": "the drain has not begun"}}
        try:
            told = self._service.steer(lambda steering: steering.stats())
        except Unreachable as error:
            return {"memsift": {"error": str(error)}}
        jobs = sum(count for cause, count in told["causes"].items() if not cause.startswith(_NO_JOBS))
        return {
            "memsift": told,
            "total": {TASK_NAME: jobs},
            "pool": {**worker.pool.info, "max-concurrency": told["limits"]["jobs_at_once"]},
        }

    def _shutting_down(self, **_: Any) -> None:
        if self._service is not None:
            self._service.take_no_more()
            threading.Thread(target=_leave, args=(self._service,), name="memsift-leave", daemon=True).start()

    def stop(self, worker: Any) -> None:
        """Finish the batches in flight; jobs that wait stay in Redis."""
        if self._service is not None:
            self._service.stop()
            self._service = None
            self._last_spans()
        if self._connection is not None:
            self._connection.release()
            self._connection = None

    terminate = stop


def _leave(service: DrainService) -> None:
    """End the process when the drain has ended and Celery has not.

    Its own connection has no timeout and may hang on a Redis that does not answer; nothing is left to do.
    """
    service.stop()
    time.sleep(CELERY_STOP_S)
    log.warning("Celery does not end by itself: leaving")
    logging.shutdown()
    os._exit(0)


def _end_worker() -> None:
    """Celery's loop sees this and ends the worker with that exit code."""
    state.should_terminate = EX_FAILURE
