"""Calls one system on command: reads one JSON object a line, answers each with one.

    python -m peer_side.driver saq

Latency counts from the moment at which a call was planned, not from when it could be made, so that a client
or a queue that is behind cannot hide it ("coordinated omission", Gil Tene 2015).
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import sys
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from .arrivals import planned
from .setup import template

# Calls that may block at once, where they block: more than are under way unless the system is behind.
THREADS = 128
ENQUEUED_AT_ONCE = 32
READY_CALL_S, READY_PAUSE_S = 10.0, 0.1


@dataclass
class Answers:
    """What became of the calls of one load.

    Attributes:
        ms: from the planned moment to the answer, of each call that was answered.
        late: how many answers came after the deadline, or from the client itself.
        failed: how many calls raised.
        own: how many the client had to answer itself.
    """

    deadline_ms: float
    ms: list[float] = field(default_factory=list)
    late: int = 0
    failed: int = 0
    own: int = 0

    def take(self, due: float, by_worker: bool) -> None:
        """One answer, now."""
        ms = (time.perf_counter() - due) * 1e3
        self.ms.append(round(ms, 3))
        self.own += not by_worker
        self.late += ms > self.deadline_ms or not by_worker

    def told(self, planned_calls: int, cpu_s: float, prefilter_cpu_s: float) -> dict[str, Any]:
        """For the parent; a call without an answer is lost."""
        return {
            "calls": planned_calls,
            "ms": self.ms,
            "late": self.late,
            "own": self.own,
            "lost": planned_calls - len(self.ms),
            "failed": self.failed,
            "cpu_s": cpu_s,
            "prefilter_cpu_s": prefilter_cpu_s,
        }


def new_job(job: dict[str, Any]) -> dict[str, Any]:
    """The same memories, another question: memsift would answer the same one from memory."""
    id_ = uuid.uuid4().hex
    return {**job, "id": id_, "query": f"{job['query'][:-1]} {id_[:8]}?"}


async def load(system: Any, order: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """Calls of an awaited client, as they are planned."""
    moments = planned(order["rate"], order["seconds"], order["seed"])
    answers = Answers(order["deadline_ms"])
    running: set[asyncio.Task[None]] = set()

    async def one(due: float) -> None:
        try:
            answers.take(due, await system.call(new_job(job)))
        except Exception as error:  # noqa: BLE001  # whatever a client raises, its call has no answer
            answers.failed += 1
            complain(error)

    cpu, aside, start = time.process_time(), prefilter_cpu_s(system), time.perf_counter() + 0.05
    for moment in moments:
        if (left := start + moment - time.perf_counter()) > 0:
            await asyncio.sleep(left)
        task = asyncio.create_task(one(start + moment))
        running.add(task)
        task.add_done_callback(running.discard)
    if running:
        await asyncio.wait(running, timeout=order["patience_s"])
    told = answers.told(len(moments), time.process_time() - cpu, prefilter_cpu_s(system) - aside)
    for task in running:
        task.cancel()
    return told


def load_blocking(
    system: Any, order: dict[str, Any], job: dict[str, Any], pool: ThreadPoolExecutor
) -> dict[str, Any]:
    """The same for a client whose calls block, in threads."""
    moments = planned(order["rate"], order["seconds"], order["seed"])
    answers = Answers(order["deadline_ms"])

    def one(due: float) -> None:
        try:
            answers.take(due, system.call(new_job(job)))
        except Exception as error:  # noqa: BLE001  # see above
            answers.failed += 1
            complain(error)

    cpu, start = time.process_time(), time.perf_counter() + 0.05
    calls = []
    for moment in moments:
        if (left := start + moment - time.perf_counter()) > 0:
            time.sleep(left)
        calls.append(pool.submit(one, start + moment))
    wait(calls, timeout=order["patience_s"])
    told = answers.told(len(moments), time.process_time() - cpu, 0.0)
    for call in calls:
        call.cancel()
    return told


async def ready(system: Any, job: dict[str, Any]) -> None:
    """Call until a worker answers."""
    while True:
        try:
            async with asyncio.timeout(READY_CALL_S):
                if await system.call(new_job(job)):
                    return
        except Exception as error:  # noqa: BLE001  # not yet
            complain(error)
        await asyncio.sleep(READY_PAUSE_S)


def ready_blocking(system: Any, job: dict[str, Any]) -> None:
    """The same for a client whose calls block."""
    while True:
        try:
            if system.call(new_job(job)):
                return
        except Exception as error:  # noqa: BLE001  # not yet
            complain(error)
        time.sleep(READY_PAUSE_S)


def prefilter_cpu_s(system: Any) -> float:
    """Seconds of CPU that went into what only memsift's client does."""
    return float(getattr(system, "prefilter_cpu_s", 0.0))


def complain(error: Exception) -> None:
    """Say on stderr what a client raised."""
    sys.stderr.write(f"{type(error).__name__}: {error}\n")


def say(told: dict[str, Any]) -> None:
    """Answer the parent."""
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


async def obey(system: Any, read: Callable[[], str]) -> None:
    """Do as told until there is nothing more, for an awaited client."""
    job = template()
    await system.open()
    say({"opened": True})
    while line := await asyncio.to_thread(read):
        order = json.loads(line)
        if order["do"] == "load":
            say(await load(system, order, job))
            continue
        if order["do"] == "ready":
            await ready(system, job)
            say({"ready": True})
            continue
        left = order["jobs"]
        while left > 0:
            now = min(left, ENQUEUED_AT_ONCE)
            await asyncio.gather(*(system.enqueue(new_job(job)) for _ in range(now)))
            left -= now
        say({"counted": system.counted()})


def obey_blocking(system: Any, read: Callable[[], str]) -> None:
    """The same for a client whose calls block."""
    job = template()
    system.open()
    say({"opened": True})
    pool = ThreadPoolExecutor(THREADS)
    while line := read():
        order = json.loads(line)
        if order["do"] == "load":
            say(load_blocking(system, order, job, pool))
            continue
        if order["do"] == "ready":
            ready_blocking(system, job)
            say({"ready": True})
            continue
        for _ in range(order["jobs"]):
            system.enqueue(new_job(job))
        say({"counted": system.counted()})


def main(name: str) -> None:
    """Drive one system."""
    system = importlib.import_module(f".{name}_system", __package__).SYSTEM
    # What memsift's documentation asks of a frontend, for all alike.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)
    if asyncio.iscoroutinefunction(system.call):
        runner = getattr(system, "run", asyncio.run)
        runner(obey(system, sys.stdin.readline))
    else:
        obey_blocking(system, sys.stdin.readline)


if __name__ == "__main__":
    main(sys.argv[1])
