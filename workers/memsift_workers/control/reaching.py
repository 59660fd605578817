"""From a control command, on Celery's main thread, to the drain on its own."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from memsift_schemas.errors import SettingsError
from memsift_schemas.redis_link import REDIS_FAULTS, tell
from memsift_workers.drain.bootstep import Drain
from memsift_workers.drain.service import Unreachable
from memsift_workers.drain.steering import Steering

T = TypeVar("T")
Answer = dict[str, Any]


def ok(said: Any) -> Answer:
    """An answer in the form that Celery's commands and Flower show as done."""
    return {"ok": said}


def no(why: str) -> Answer:
    """An answer in the form that they show as an error."""
    return {"error": why}


def steer(state: Any, do: Callable[[Steering], Coroutine[Any, Any, T]]) -> T:
    """Have something done by this worker's drain.

    Args:
        state: what Celery passes to a control command.
        do: what to do.

    Raises:
        Unreachable: it was not done; says why.
        Exception: what `do` raised.
    """
    service = Drain.of(state.consumer.controller)
    if service is None:
        raise Unreachable("the drain has not begun")
    return service.steer(do)


def answer(state: Any, do: Callable[[Steering], Coroutine[Any, Any, Any]]) -> Answer:
    """The same as an answer: what was done, or in one sentence why nothing was."""
    try:
        return ok(steer(state, do))
    except (Unreachable, SettingsError) as error:
        return no(str(error))
    except REDIS_FAULTS as fault:
        return no(f"Redis is away ({tell(fault)})")
