"""Celery apps of workers with a fault of their own, for `celery -A`."""

import time

from memsift_workers.app import app
from memsift_workers.runtimes.scripted import ScriptedRuntime

BLOCKS = "block the loop"
SECONDS = 60.0

_run = ScriptedRuntime.run


async def _blocking(self, calls, *, timeout):
    """The fault: a runtime that computes on the drain's event loop instead of beside it."""
    if any(BLOCKS in call.suffix for call in calls):
        time.sleep(SECONDS)  # noqa: ASYNC251
    return await _run(self, calls, timeout=timeout)


ScriptedRuntime.run = _blocking

__all__ = ["app"]
