"""How many jobs a second one worker process drains, by its CPU time: everything but the model."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import psutil
from redis.asyncio import Redis

from memsift_schemas import message, sealing, settings, wire
from memsift_schemas.job import RerankJob
from memsift_schemas.keys import reply_key
from memsift_schemas.memory import Kind, Memory
from memsift_schemas.result import RerankResult
from memsift_schemas.sealing import KeyRing

# A production job: 20 memories of about 500 characters are 11 KB and more.
MEMORIES = 20
SENTENCE = "On day {day} they talked about plan number {plan} and what it would take to get there in time. "
SENTENCES = 5
# Never the same twice: what was asked before is answered from memory, without the runtime.
QUERY = "What did they say about plan {about}?"
# Nobody waits this long; a job that is not answered by then is lost.
ANSWER_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Round:
    """One burst of jobs.

    Attributes:
        jobs: how many were pushed at once.
        answered: how many rankings came back, each job counted once.
        seconds: from the push to the last reply.
        worker_cpu_us: CPU time of the worker process per job, microseconds, user and system.
        jobs_per_cpu_s: jobs per second of that CPU time.
        furthest_out_of_order: the largest distance between a job's place in the queue and its reply's.
        job_bytes: size of one message.
    """

    jobs: int
    answered: int
    seconds: float
    worker_cpu_us: float
    jobs_per_cpu_s: float
    furthest_out_of_order: int
    job_bytes: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


async def measure(
    url: str, queue: str, worker_pid: int, *, jobs: int, rounds: int, progress: Callable[[], None]
) -> list[Round]:
    """Push bursts of jobs at a worker that is ready and count what comes back.

    Args:
        url: the Redis server.
        queue: the drained list.
        worker_pid: whose CPU time counts.
        jobs: per burst, all pushed in one command.
        rounds: how many bursts; one more goes first and is not counted.
        progress: called after each burst.
    """
    redis = Redis.from_url(url)
    worker = psutil.Process(worker_pid)
    found = []
    try:
        for _ in range(rounds + 1):
            found.append(await _burst(redis, queue, worker, jobs))
            progress()
    finally:
        await redis.aclose()
    return found[1:]


async def _burst(redis: Redis, queue: str, worker: psutil.Process, jobs: int) -> Round:
    replies = reply_key(queue, uuid.uuid4().hex)
    now = datetime.now(UTC)
    ring = _ring()
    ids, messages = [], []
    for _ in range(jobs):
        job = production_job(now, reply_to=replies, answer_within_s=ANSWER_WITHIN_S)
        ids.append(job.id)
        encoded = sealing.seal_job(ring, wire.encode_job(job), job_id=job.id, reply_to=replies)
        messages.append(message.build(job, encoded, queue))
    loop = asyncio.get_running_loop()
    cpu, started = cpu_s(worker), loop.time()
    await redis.lpush(queue, *messages)
    answered = await _collect(redis, replies, jobs, started + ANSWER_WITHIN_S)
    seconds = loop.time() - started
    await asyncio.sleep(0.3)  # the last events are still being sent, and count
    per_job = (cpu_s(worker) - cpu) / jobs
    place = {one: at for at, one in enumerate(ids)}
    return Round(
        jobs=jobs,
        answered=len(set(answered) & set(ids)),
        seconds=seconds,
        worker_cpu_us=per_job * 1e6,
        jobs_per_cpu_s=1 / per_job,
        furthest_out_of_order=max((abs(place[one] - at) for at, one in enumerate(answered)), default=0),
        job_bytes=len(messages[0]),
    )


async def _collect(redis: Redis, replies: str, jobs: int, give_up_at: float) -> list[str]:
    answered: list[str] = []
    ring = _ring()
    while len(answered) < jobs and asyncio.get_running_loop().time() < give_up_at:
        popped: Any = await redis.blmpop(1, 1, replies, direction="LEFT", count=256)
        for raw in popped[1] if popped else ():
            reply = wire.decode_reply(sealing.open_reply(ring, raw))
            if isinstance(reply, RerankResult):
                answered.append(reply.job_id)
    return answered


def _ring() -> KeyRing | None:
    """The keys that the worker has too, from the environment."""
    return KeyRing.of(settings.load(settings.Settings).seal_keys)


def cpu_s(process: psutil.Process) -> float:
    """Seconds of CPU that a process has used, user and system."""
    times = process.cpu_times()
    return float(times.user + times.system)


def production_job(now: datetime, *, reply_to: str | None, answer_within_s: float) -> RerankJob:
    """A job as a frontend sends it, 11 KB and more.

    Args:
        now: when it is asked.
        reply_to: the reply list.
        answer_within_s: until its deadline, seconds.
    """
    memories = tuple(
        Memory(
            id=f"m{at}",
            text="".join(SENTENCE.format(day=at, plan=at * 7 + line) for line in range(SENTENCES)).strip(),
            created_at=now - timedelta(days=at),
            kind=Kind.FACT,
            similarity=0.9 - at / 100,
        )
        for at in range(MEMORIES)
    )
    id_ = uuid.uuid4().hex
    return RerankJob(
        id=id_,
        query=QUERY.format(about=id_[:8]),
        now=now,
        candidates=memories,
        prior=tuple(1 - at / MEMORIES for at in range(MEMORIES)),
        deadline=now.timestamp() + answer_within_s,
        sent_at=now.timestamp(),
        reply_to=reply_to,
    )
