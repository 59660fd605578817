"""Rounds and results as the benchmarks write them, with made-up numbers."""

from memsift_ops.benchmarks import record
from memsift_ops.peers.summary import summarise


def load(calls=100, ms=20.0, worker_us=300.0, producer_us=400.0, **fields):
    one = {
        "calls": calls,
        "ms": [ms + at / calls for at in range(calls)],
        "late": 0,
        "own": 0,
        "lost": 0,
        "failed": 0,
        "cpu_s": producer_us * calls / 1e6,
        "prefilter_cpu_s": 0.0,
        "worker_cpu_s": worker_us * calls / 1e6,
        "redis_cpu_s": 0.01,
    }
    return {**one, **fields}


def one_round(*, slow=1.0, prefilter_us=0.0):
    loads = {
        name: load(
            ms=20.0 * slow,
            worker_us=300.0 * slow,
            producer_us=400.0 * slow + prefilter_us,
            prefilter_cpu_s=prefilter_us * 100 / 1e6,
        )
        for name in ("idle", "200")
    }
    return {"drain": {"jobs": 900, "seconds": 0.5 * slow, "worker_cpu_s": 0.3 * slow}, "loads": loads}


def queue_result(*, ours=1.0, rounds=3):
    """Ours is `ours` times as slow as it was; saq twice and celery eight times as slow as that."""
    found = {
        "memsift": [one_round(slow=ours) for _ in range(rounds)],
        "saq": [one_round(slow=2.0) for _ in range(rounds)],
        "celery": [one_round(slow=8.0) for _ in range(rounds)],
    }
    asked = {
        "rounds": rounds,
        "seconds": 8.0,
        "deadline_ms": 400.0,
        "batch_ms": 15.0,
        "batch_max": 16,
        "batches": 4,
        "wait_ms": 8.0,
    }
    about = {name: f"{name} as it is" for name in found}
    return {
        **record.begun("queue", asked),
        **summarise(found),
        "failed": {},
        "rounds": found,
        "about": about,
    }
