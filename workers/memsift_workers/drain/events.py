"""Celery task events for Flower and any other monitor, flushed in groups.

They are best effort: a monitor that misses some is no reason to slow a job down.
"""

from __future__ import annotations

import logging
import threading
from typing import Any, Protocol

log = logging.getLogger("memsift.worker")

# One publish for all events of this long, as Celery's own workers do.
FLUSH_EVERY_S = 0.1
# How long an ending worker waits for the last ones to leave.
LAST_WORDS_S = 1.0
# While Redis is away events pile up to this many, then the oldest go.
MAX_BUFFERED = 10_000


class Dispatcher(Protocol):
    """The part of `celery.events.EventDispatcher` that is used; it must buffer the group `task`."""

    def send(self, type: str, **fields: Any) -> Any:  # noqa: A002  # Celery's name
        """Buffer one event."""
        ...

    def flush(self, errors: bool = True, groups: bool = True) -> None:
        """Publish what is buffered."""
        ...


class EventStream:
    """Collects events from the drain's thread and publishes them from a thread of its own.

    kombu's publishing blocks, so it must not run in the drain's event loop.

    Attributes:
        sending: whether anybody is told; what comes while it is False is dropped.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._buffer: list[tuple[str, dict[str, Any]]] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memsift-events", daemon=True)
        self._failing = False
        self.sending = True

    def start(self) -> None:
        """Begin to publish."""
        self._thread.start()

    def stop(self) -> None:
        """Publish what is left and end."""
        self._stopping.set()
        self._thread.join(timeout=LAST_WORDS_S)

    def send(self, kind: str, **fields: Any) -> None:
        """Take one event; never blocks and never raises."""
        if not self.sending:
            return
        with self._lock:
            self._buffer.append((kind, fields))
            if len(self._buffer) > MAX_BUFFERED:
                del self._buffer[: MAX_BUFFERED // 10]

    def _run(self) -> None:
        while not self._stopping.wait(FLUSH_EVERY_S):
            self._flush()
        self._flush()

    def _flush(self) -> None:
        with self._lock:
            events, self._buffer = self._buffer, []
        if not events:
            return
        try:
            for kind, fields in events:
                self._dispatcher.send(kind, **fields)
            self._dispatcher.flush(errors=False, groups=True)
            self._failing = False
        except Exception as error:  # noqa: BLE001  # kombu raises the transport's own errors
            if not self._failing:
                log.warning("no task events (%s): monitors show less, jobs go on", type(error).__name__)
            self._failing = True
