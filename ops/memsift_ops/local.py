"""Where a command's questions are answered: a running stack, or a temporary one on free ports."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from memsift_ops import console, services
from memsift_ops.child import LineSink
from memsift_ops.services import WorkerInfo
from memsift_ops.stack import Stack
from memsift_ops.weights import ensure_model
from memsift_schemas import settings
from memsift_schemas.settings import ProducerSettings

# For commands that measure: they wait for answers that a frontend would no longer send for, and what they ask
# is no user's call, to be logged or told of.
PATIENT: dict[str, Any] = {
    "breaker_failures": 1_000_000,
    "breaker_p99_ms": 3_600_000,
    "decision_log": "",
    "feedback_ttl_s": 0,
}

# How a worker's log begins to tell why it is not ready.
_WAITS = "no jobs are taken"


@dataclass(frozen=True, slots=True)
class Answering:
    """A queue with a ready worker.

    Attributes:
        redis_url: may hold a password.
        queue: the Redis list.
        worker: what the worker says of itself.
        stack: ours, when it is a temporary one.
    """

    redis_url: str = field(repr=False)
    queue: str
    worker: WorkerInfo
    stack: Stack | None = None

    def check(self) -> None:
        """Make sure that a temporary stack still runs.

        Raises:
            Failure: one of its processes has ended.
        """
        if self.stack is not None:
            self.stack.check()


@contextlib.contextmanager
def temporary(
    what: str = "a worker, loading and warming its model", *, model: bool = True
) -> Iterator[Answering]:
    """Start Valkey and a worker; they are stopped on leaving.

    Args:
        what: is being started, for who waits.
        model: whether the worker needs the weights; they are fetched when absent.

    Raises:
        Failure: a process did not start, or the model cannot be had.
        SettingsError: a setting is wrong.
    """
    queue = settings.load(ProducerSettings).queue
    if model:
        ensure_model()
    with Stack(queue, sink=_tell_what_is_waited_for()) as stack:
        with console.waiting("starting Valkey"):
            stack.start_valkey()
        with console.waiting(f"starting {what}"):
            worker = stack.start_worker()
        yield Answering(stack.redis_url, queue, worker, stack)


def _tell_what_is_waited_for() -> LineSink:
    """Says once why a worker takes no jobs, such as a model server that is not up yet."""
    told: set[str] = set()

    def tell(_name: str, line: str) -> None:
        _, found, why = line.partition(_WAITS)
        if found and why not in told:
            told.add(why)
            console.stderr().print(f"the worker waits: {_WAITS}{why}", markup=False)

    return tell


def running() -> Answering | None:
    """The stack at `MEMSIFT_REDIS_URL`, if it has a ready worker.

    Raises:
        SettingsError: a setting is wrong.
    """
    wanted = settings.load(ProducerSettings)
    workers = services.ready_workers(wanted.redis_url, wanted.queue)
    return Answering(wanted.redis_url, wanted.queue, workers[0]) if workers else None


@contextlib.contextmanager
def running_or_temporary() -> Iterator[Answering]:
    """The stack at `MEMSIFT_REDIS_URL` if it has a ready worker, else a temporary one.

    Raises:
        Failure: see `temporary`.
        SettingsError: a setting is wrong.
    """
    if (answering := running()) is not None:
        yield answering
        return
    console.stderr().print("No ready worker at MEMSIFT_REDIS_URL: starting a temporary stack.")
    with temporary() as answering:
        yield answering
