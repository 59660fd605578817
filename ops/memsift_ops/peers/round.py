"""One round of one system: a backlog drained, then the loads, from the lightest to the heaviest."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import redis

from memsift_ops.benchmarks.cpu_clock import cpu_s
from memsift_ops.drain_bench import production_job
from memsift_ops.errors import Failure
from memsift_ops.peers.process import Client, Worker, for_peer, variables
from memsift_ops.peers.systems import System
from memsift_schemas import wire

# Calls that come one by one, each long after the other's answer.
IDLE, IDLE_RATE = "idle", 4.0
DEADLINE_MS = 400.0
# A job without an answer so long after the last arrival is lost.
PATIENCE_S = 5.0
# A backlog that is not drained by then, never will be.
DRAIN_S = 120.0
LOOK_EVERY_S = 0.02
# Where the measured part of a backlog begins: what comes before starts the worker.
WARM_SHARE = 0.1
READY_S = 30.0
# The last results and events are still on their way.
SETTLE_S = 0.3
WARM_UP = {"rate": 20.0, "seconds": 0.5}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a round consists of.

    Attributes:
        rates: names of the loads, `idle` or jobs per second.
        seconds: how long each goes on.
        backlog: jobs to drain.
        batch_ms: of the fake runtime; 0 is the task that does nothing.
        wait_ms: how long a batch waits to fill up.
        batch_max: jobs in a batch.
        batches: at once.
        seed: of the arrivals.
    """

    rates: Sequence[str]
    seconds: float
    backlog: int
    batch_ms: float
    wait_ms: float
    batch_max: int
    batches: int
    seed: int


def measure(
    system: System, plan: Plan, url: str, redis_pid: int, folder: Path, *, progress: Callable[[str], None]
) -> dict[str, Any]:
    """One round.

    Args:
        system: which.
        plan: what to do.
        url: an empty Redis.
        redis_pid: its process, whose CPU time is counted beside.
        folder: for the job's file.
        progress: is told what comes next.

    Returns:
        `drain` and `loads`, by name, with every latency.

    Raises:
        Failure: it could not be measured.
    """
    told = variables(
        url,
        job_file(folder),
        batch_ms=plan.batch_ms,
        wait_ms=plan.wait_ms,
        batch_max=plan.batch_max,
        batches=plan.batches,
    )
    environment = told if system.ours else for_peer(told)
    server = redis.Redis.from_url(url)
    loads: dict[str, Any] = {}
    with contextlib.ExitStack() as stack:
        progress("a backlog")
        server.flushall()
        client = stack.enter_context(Client(system, environment))
        counted = client.do({"do": "enqueue", "jobs": plan.backlog}, seconds=DRAIN_S)["counted"]
        before = _count(server, counted)
        worker = stack.enter_context(Worker(system, environment))
        drain = _drain(server, worker, counted, before, plan.backlog)
        for name in plan.rates:
            progress(name)
            if loads and _lost(loads):
                # What it could not do is still in its queue.
                stack.close()
                server.flushall()
                client = stack.enter_context(Client(system, environment))
                worker = stack.enter_context(Worker(system, environment))
            loads[name] = _load(client, worker, redis_pid, name, plan)
    return {"drain": drain, "loads": loads}


def job_file(folder: Path) -> Path:
    """Write the job that every system is sent, as JSON.

    Args:
        folder: where to.
    """
    job = production_job(datetime.now(UTC), reply_to=None, answer_within_s=3600.0)
    path = folder / "job.json"
    path.write_text(json.dumps(wire.dump_job(job)), encoding="utf-8")
    return path


def _lost(loads: Mapping[str, Any]) -> bool:
    return any(one["lost"] for one in loads.values())


def _load(client: Client, worker: Worker, redis_pid: int, name: str, plan: Plan) -> dict[str, Any]:
    rate = IDLE_RATE if name == IDLE else float(name)
    limits = {"deadline_ms": DEADLINE_MS, "patience_s": PATIENCE_S}
    order = {"do": "load", "rate": rate, "seconds": plan.seconds, "seed": plan.seed, **limits}
    client.do({"do": "ready"}, seconds=READY_S)
    client.do({"do": "load", **WARM_UP, "seed": 0, **limits}, seconds=PATIENCE_S)
    worker.check()
    cpu, server = worker.cpu_s(), cpu_s(redis_pid)
    found = client.do(order, seconds=plan.seconds + PATIENCE_S)
    time.sleep(SETTLE_S)
    worker.check()
    found["worker_cpu_s"] = worker.cpu_s() - cpu
    found["redis_cpu_s"] = cpu_s(redis_pid) - server
    if not found["ms"]:
        raise Failure(f"nothing was answered at {name} jobs/s", log=client.complaints())
    return found


def _drain(server: Any, worker: Worker, counted: Sequence[str], before: int, jobs: int) -> dict[str, Any]:
    """From a tenth of the backlog to its end: jobs, seconds and CPU."""
    begun: tuple[int, float, float] | None = None
    for done in _watched(server, worker, counted, before):
        if begun is None and done >= jobs * WARM_SHARE:
            begun = done, time.perf_counter(), worker.cpu_s()
        if done >= jobs:
            break
    if begun is None or begun[0] >= jobs:
        raise Failure("the backlog is too short to measure")
    seconds = time.perf_counter() - begun[1]
    time.sleep(SETTLE_S)
    return {"jobs": jobs - begun[0], "seconds": seconds, "worker_cpu_s": worker.cpu_s() - begun[2]}


def _watched(server: Any, worker: Worker, counted: Sequence[str], before: int) -> Iterator[int]:
    give_up_at = time.monotonic() + DRAIN_S
    while time.monotonic() < give_up_at:
        worker.check()
        yield abs(_count(server, counted) - before)
        time.sleep(LOOK_EVERY_S)
    raise Failure(f"the backlog was not drained in {DRAIN_S:.0f} s")


def _count(server: Any, counted: Sequence[str]) -> int:
    way, key = counted
    match way:
        case "keys":
            return int(server.eval("return #redis.call('KEYS', ARGV[1])", 0, key))
        case "llen":
            return int(server.llen(key))
        case "hlen":
            return int(server.hlen(key))
        case _:
            return int(server.zcard(key))
