"""What the benchmark tells both sides of a system, by environment variables."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

URL = os.environ.get("BENCH_REDIS_URL", "redis://127.0.0.1:6379/0")
# What one batch takes in the fake runtime; 0 is the task that does nothing.
BATCH_S = float(os.environ.get("BENCH_BATCH_MS", "15")) / 1e3
BATCH_MAX = int(os.environ.get("BENCH_BATCH_MAX", "16"))
BATCH_WAIT_S = float(os.environ.get("BENCH_BATCH_WAIT_MS", "8")) / 1e3
BATCHES = int(os.environ.get("BENCH_BATCHES", "4"))
# As many jobs as the runtime holds.
AT_ONCE = BATCH_MAX * BATCHES
# How often a client looks for a result where its library can only look.
LOOK_EVERY_S = 0.005
RESULT_LIVES_S = 60


def template() -> dict[str, Any]:
    """The job that is sent again and again, as JSON-ready data."""
    data: dict[str, Any] = json.loads(Path(os.environ["BENCH_JOB"]).read_text(encoding="utf-8"))
    return data


def answered(job: dict[str, Any]) -> dict[str, Any]:
    """What the fake runtime makes of a job: a place and a score for each memory."""
    ranking = [{"id": one["id"], "score": -float(at)} for at, one in enumerate(job["candidates"])]
    return {"job_id": job["id"], "ranking": ranking}


def check(job: dict[str, Any], answer: Any) -> None:
    """Make sure that an answer is one to this job.

    Raises:
        ValueError: it is not.
    """
    if answer["job_id"] != job["id"] or len(answer["ranking"]) != len(job["candidates"]):
        raise ValueError("this is the answer to something else")
