"""All checks, one after another; one that cannot be made ends no other."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from memsift_ops import services
from memsift_ops.commands.version import versions
from memsift_ops.doctor import crew, egress, job, model, rights, server
from memsift_ops.doctor.finding import Finding, fault, ok, skipped
from memsift_ops.doctor.rights import Side
from memsift_schemas.clock import Clock
from memsift_schemas.redis_faults import REDIS_FAULTS, tell
from memsift_schemas.settings import ProducerSettings, WorkerSettings

NEEDS_REDIS = "Redis does not answer"
CHECK_REDIS = "check MEMSIFT_REDIS_URL and the server"


@dataclass(frozen=True, slots=True)
class Patient:
    """What is examined.

    Attributes:
        worker: a worker's settings.
        frontend: a frontend's settings.
        side: whose rights `MEMSIFT_REDIS_URL` has.
        operator_url: the same server with an operator's rights; None takes `MEMSIFT_REDIS_URL`.
        clock: this machine's.
        start_s: how long the model's server may take to be ready.
    """

    worker: WorkerSettings
    frontend: ProducerSettings
    side: Side
    operator_url: str | None
    clock: Clock
    start_s: float


async def examine(patient: Patient, telling: Callable[[str], None]) -> AsyncIterator[Finding]:
    """Every finding, as it is made.

    Args:
        patient: what to examine.
        telling: called with what is looked at next.
    """
    telling("packages")
    yield _packages()
    reached = True
    for what, findings in _at_redis(patient):
        telling(what)
        if not reached:
            yield skipped(what, NEEDS_REDIS)
            continue
        try:
            for finding in await asyncio.to_thread(findings):
                yield finding
        except REDIS_FAULTS as error:
            reached = False
            yield fault(what, f"Redis does not answer as it should ({tell(error)})", CHECK_REDIS)
    telling("addresses")
    async for finding in egress.look(patient.worker):
        yield finding
    telling("the model")
    async for finding in model.look(patient.worker, start_s=patient.start_s):
        yield finding
    telling("a test job")
    yield await job.look(patient.frontend) if reached else skipped("job", NEEDS_REDIS)


def _packages() -> Finding:
    found = versions()
    shown = ", ".join(f"{name} {number}" for name, number in found.items() if number is not None)
    return ok("versions", shown)


def _at_redis(patient: Patient) -> Iterator[tuple[str, Callable[[], list[Finding]]]]:
    mine = patient.worker.redis_url
    theirs = patient.operator_url or mine
    queue = patient.worker.queue
    broker = patient.operator_url or patient.worker.broker_url or mine
    yield "redis", lambda: _with(theirs, lambda client: server.look(client, patient.clock))
    yield "redis.rights", lambda: _with(mine, lambda client: rights.look(client, queue, patient.side))
    yield "workers", lambda: _with(theirs, lambda client: crew.look(client, queue, broker))


def _with(url: str, look: Callable[[Any], Iterator[Finding]]) -> list[Finding]:
    with contextlib.closing(services.client(url)) as client:
        client.ping()
        return list(look(client))
