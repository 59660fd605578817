"""Tells workers what to do by Celery's remote control, and waits for answers no longer than it was told.

Celery's control reaches every worker of any application on the same Redis database. So commands carry the
names of those that are meant, which the cards of the queue's workers tell.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from celery import Celery

from memsift_ops import services
from memsift_ops.errors import Failure
from memsift_schemas import redis_urls
from memsift_schemas.redis_faults import REDIS_FAULTS
from memsift_schemas.settings import WorkerSettings

# Beyond the time for answers: connecting, and sending.
SENDING_S = 3.0
LOOK_EVERY_S = 0.1

# What a worker answered; None for one that did not.
Answers = dict[str, dict[str, Any] | None]


def addressed(settings: WorkerSettings, wanted: Sequence[str]) -> list[str]:
    """Names of the workers that are meant.

    Args:
        settings: where Redis and the queue are.
        wanted: names, parts before the `@`, or patterns of either with `*`; none means all that are present.
            A whole name also reaches a worker that has no card, because it waits for its runtime.

    Raises:
        Failure: Redis is away, or no worker is meant.
    """
    present = _present(settings)
    if not wanted:
        if not present:
            raise Failure(
                f"no worker of the queue {settings.queue} is present: start one with `memsift worker`"
            )
        return present
    names = []
    for one in wanted:
        found = [name for name in present if fnmatchcase(name, one) or fnmatchcase(name.split("@")[0], one)]
        if not found and ("@" not in one or "*" in one):
            there = ", ".join(present) or "none"
            raise Failure(f"no worker is called {one}; present are: {there}")
        names += found or [one]
    return list(dict.fromkeys(names))


def ask(
    settings: WorkerSettings,
    command: str,
    arguments: dict[str, Any],
    workers: Sequence[str],
    timeout_s: float,
) -> Answers:
    """Send one command and collect answers until all have come or the time is over.

    Args:
        settings: where the broker is.
        command: a control or inspect command.
        arguments: its own.
        workers: whole names.
        timeout_s: for the answers.

    Returns:
        For each worker what it answered.

    Raises:
        Failure: the broker is away.
    """
    came: list[dict[str, Any]] = []
    sent = _broadcast(settings, command, arguments, workers, timeout_s, came)
    # Kombu tries a broker that hangs again and again, without an end; its thread ends with this process.
    sent.join(timeout_s + SENDING_S)
    answers: Answers = dict.fromkeys(workers)
    for reply in tuple(came):
        answers.update({name: said for name, said in reply.items() if name in answers})
    return answers


def shut_down(settings: WorkerSettings, workers: Sequence[str], timeout_s: float) -> dict[str, bool]:
    """Have workers end, as by SIGTERM, and wait until each has taken its card away.

    Args:
        settings: where broker and queue are.
        workers: whole names.
        timeout_s: to wait; what is in flight may take longer.

    Returns:
        For each worker whether it takes nothing more.

    Raises:
        Failure: the broker is away.
    """
    _broadcast(settings, "shutdown", {}, workers, 0.0, None).join(SENDING_S)
    until = time.monotonic() + timeout_s
    while (left := set(workers) & set(_present(settings))) and time.monotonic() < until:
        time.sleep(LOOK_EVERY_S)
    return {name: name not in left for name in workers}


def _present(settings: WorkerSettings) -> list[str]:
    try:
        with services.client(settings.redis_url) as client:
            return sorted(services.cards(client, settings.queue))
    except REDIS_FAULTS as fault:
        raise _away(fault, "MEMSIFT_REDIS_URL") from None


def _broadcast(
    settings: WorkerSettings,
    command: str,
    arguments: dict[str, Any],
    workers: Sequence[str],
    timeout_s: float,
    came: list[dict[str, Any]] | None,
) -> threading.Thread:
    """Send in a thread of its own; `came` gets the answers, None waits for none."""
    url = settings.broker_url or settings.redis_url
    try:
        with services.client(url) as client:
            client.ping()
    except REDIS_FAULTS as fault:
        raise _away(fault, "MEMSIFT_BROKER_URL or MEMSIFT_REDIS_URL") from None
    broker, options = redis_urls.celery_broker(url)
    app = Celery("memsift-control", broker=broker, set_as_current=False)
    limits = {"socket_timeout": services.ANSWER_S, "socket_connect_timeout": services.ANSWER_S}
    app.conf.update(broker_transport_options={**options, **limits})

    def send() -> None:
        try:
            app.control.broadcast(
                command,
                arguments=arguments,
                destination=list(workers),
                reply=came is not None,
                timeout=timeout_s or None,
                callback=came.append if came is not None else None,
            )
        except Exception:  # noqa: BLE001  # any fault of the transport: who did not answer is told
            return

    thread = threading.Thread(target=send, name=f"control {command}", daemon=True)
    thread.start()
    return thread


def _away(fault: Exception, variable: str) -> Failure:
    return Failure(f"Redis does not answer ({type(fault).__name__}): check {variable} and the server")
