"""What `celery control`, Flower and `memsift control` can do to a drain.

Flower's API and pages send a fixed set of Celery's commands, so those with a meaning for a drain have it:
cancelling the consumer of the drained queue pauses the worker, adding it resumes, growing and shrinking the
pool changes the concurrency, revoking a job cancels it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from celery.worker.control import control_command

from memsift_schemas.errors import SettingsError
from memsift_schemas.settings import WorkerSettings
from memsift_workers.control import queries, refused
from memsift_workers.control.reaching import Answer, answer, no
from memsift_workers.drain.steering import Steering

PAUSED = "paused: nothing more is taken; what is in flight is answered, the rest is left to others"
RESUMED = "resumed: jobs are taken"


def install(settings: WorkerSettings) -> None:
    """Register what depends on the settings; the rest of this module is registered by its import."""
    queries.install(settings)
    refused.install()
    drained = settings.queue
    elsewhere = f"this worker drains {drained} and nothing else: set MEMSIFT_QUEUE and restart it"

    @control_command(args=[("queue", str)], signature="<queue>")  # type: ignore[untyped-decorator]
    def cancel_consumer(state: Any, queue: str, **_: Any) -> Answer:
        """Pause, where the queue is the drained one."""
        return answer(state, _pause) if queue == drained else no(elsewhere)

    @control_command(args=[("queue", str)], signature="<queue>")  # type: ignore[untyped-decorator]
    def add_consumer(state: Any, queue: str, **_: Any) -> Answer:
        """Resume, where the queue is the drained one."""
        return answer(state, _resume) if queue == drained else no(elsewhere)


@control_command()  # type: ignore[untyped-decorator]
def drain_pause(state: Any) -> Answer:
    """Take no more jobs, until drain_resume or a restart."""
    return answer(state, _pause)


@control_command()  # type: ignore[untyped-decorator]
def drain_resume(state: Any) -> Answer:
    """Take jobs again."""
    return answer(state, _resume)


@control_command(  # type: ignore[untyped-decorator]
    variadic="changes", signature="[batch_max=N] [batch_wait_ms=MS] [concurrency=N]"
)
def set_limits(state: Any, changes: Sequence[str] = (), **named: Any) -> Answer:
    """Change limits until a restart; without any, tell what is in force."""
    try:
        wanted = {**_pairs(changes), **named}
    except SettingsError as error:
        return no(str(error))
    return answer(state, lambda steering: steering.change_limits(wanted))


@control_command(args=[("n", int)], signature="[N=1]")  # type: ignore[untyped-decorator]
def pool_grow(state: Any, n: int = 1, **_: Any) -> Answer:
    """Raise the concurrency by n jobs."""
    return _grow(state, n)


@control_command(args=[("n", int)], signature="[N=1]")  # type: ignore[untyped-decorator]
def pool_shrink(state: Any, n: int = 1, **_: Any) -> Answer:
    """Lower the concurrency by n jobs."""
    return _grow(state, -n)


@control_command(variadic="task_id", signature="[id1 [id2 [... [idN]]]]")  # type: ignore[untyped-decorator]
def revoke(state: Any, task_id: Any = (), **_: Any) -> Answer:
    """Cancel jobs by id, wherever they are."""
    ids = [task_id] if isinstance(task_id, str) else list(task_id or ())
    if not ids:
        return no("no job is named")

    async def cancel(steering: Steering) -> str:
        await steering.cancel(ids)
        return f"{len(ids)} jobs are cancelled where nobody has answered them yet"

    return answer(state, cancel)


@control_command(  # type: ignore[untyped-decorator]
    args=[("signal", str)], variadic="task_id", signature="<signal> [id1 [id2 [... [idN]]]]"
)
def terminate(state: Any, task_id: Any = (), **_: Any) -> Answer:
    """Cancel jobs by id; no process is signalled."""
    return revoke(state, task_id)  # type: ignore[no-any-return]


@control_command()  # type: ignore[untyped-decorator]
def enable_events(state: Any) -> Answer:
    """Send task events."""
    return answer(state, lambda steering: steering.tell_monitors(tell=True))


@control_command()  # type: ignore[untyped-decorator]
def disable_events(state: Any) -> Answer:
    """Send no task events."""
    return answer(state, lambda steering: steering.tell_monitors(tell=False))


async def _pause(steering: Steering) -> str:
    await steering.pause(paused=True)
    return PAUSED


async def _resume(steering: Steering) -> str:
    await steering.pause(paused=False)
    return RESUMED


def _grow(state: Any, by: int) -> Answer:
    async def grow(steering: Steering) -> str:
        now = (await steering.change_limits({}))["concurrency"]
        told = await steering.change_limits({"concurrency": now + by})
        return f"concurrency {now} -> {told['concurrency']} jobs ({told['jobs_at_once']} of this process)"

    return answer(state, grow)


def _pairs(changes: Sequence[str]) -> dict[str, str]:
    pairs = [change.partition("=") for change in changes]
    if any(not separator for _, separator, _ in pairs):
        raise SettingsError("write limits as name=value, such as batch_max=8")
    return {name: value for name, _, value in pairs}
