"""What an operator may do to a drain that runs; all of it happens on the drain's own event loop."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from typing import Any

from redis.asyncio import Redis

from memsift_schemas.keys import QUEUE_TTL_S, cancel_key
from memsift_workers.drain.batch import BatchHandler
from memsift_workers.drain.events import EventStream
from memsift_workers.drain.loop import DrainLoop
from memsift_workers.flow.limits import Limits

log = logging.getLogger("memsift.worker")


class Steering:
    """One worker's wheel.

    Args:
        limits: those in force.
        redis: the connection.
        drain: is paused.
        handler: of its batches.
        events: for monitors.
        card: what the worker says of itself.
    """

    def __init__(
        self,
        limits: Limits,
        redis: Redis,
        *,
        drain: DrainLoop,
        handler: BatchHandler,
        events: EventStream,
        card: Callable[[], dict[str, Any]],
    ) -> None:
        self._queue = limits.settings.queue
        self._redis = redis
        self._drain = drain
        self._handler = handler
        self._limits = limits
        self._events = events
        self._card = card

    async def pause(self, *, paused: bool) -> None:
        """Take nothing more, or go on. What is in flight goes on; a restart is not paused."""
        if paused is not self._drain.paused:
            log.warning("paused: nothing is taken" if paused else "resumed: jobs are taken again")
        self._drain.pause(paused=paused)

    async def change_limits(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """Put new limits into force until a restart.

        Args:
            wanted: some of `limits.CHANGEABLE`; none only asks.

        Returns:
            What is in force now.

        Raises:
            SettingsError: see `Limits.change`; nothing has changed then.
        """
        if wanted:
            before = self._limits.as_dict()
            self._limits.change(wanted, self._handler.load)
            now = self._limits.as_dict()
            told = [f"{name} {before[name]} -> {now[name]}" for name in now if now[name] != before[name]]
            log.info("limits changed: %s", ", ".join(told) or "to what they were")
        return self._limits.as_dict()

    async def stats(self) -> dict[str, Any]:
        """What the card says, and what is in force."""
        drain = self._drain
        state = "stopping" if drain.stopping.is_set() else "paused" if drain.paused else "draining"
        return {
            "state": state,
            "queue": self._queue,
            **self._card(),
            "limits": self._limits.as_dict(),
        }

    async def active(self, hostname: str) -> list[dict[str, Any]]:
        """The jobs that rankers are asked about, as Celery tells of its tasks: ids and counts."""
        return [
            {
                "id": delivery.envelope.id,
                "name": delivery.envelope.task,
                "args": "()",
                "kwargs": delivery.envelope.shown,
                "type": delivery.envelope.task,
                "hostname": hostname,
                "time_start": since,
                # A pop takes a job off its list for good.
                "acknowledged": True,
                "delivery_info": {"exchange": "", "routing_key": self._queue},
                "worker_pid": os.getpid(),
            }
            for since, group in self._handler.asked.values()
            for delivery, _ in group
        ]

    async def cancel(self, job_ids: Sequence[str]) -> None:
        """Mark jobs as unwanted: whichever worker has one, or will have, drops it.

        Raises:
            RedisError: they are not marked.
        """
        pipeline = self._redis.pipeline(transaction=False)
        for job_id in job_ids:
            pipeline.set(cancel_key(self._queue, job_id), 1, px=int(QUEUE_TTL_S * 1e3))
        await pipeline.execute()

    async def tell_monitors(self, *, tell: bool) -> str:
        """Whether task events are sent from now on; says so."""
        self._events.sending = tell
        return f"task events {'enabled' if tell else 'disabled'}"
