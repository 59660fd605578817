"""The weights of `jev`, for fitting."""

from __future__ import annotations

import math

import numpy as np

from memsift_ops.datasets import Case
from memsift_ops.evaluation.fitting.linear import Linear, Table
from memsift_producer.prefilter import by_kind, prefilter
from memsift_schemas import settings
from memsift_schemas.job import RerankJob
from memsift_schemas.settings import ProducerSettings, WorkerSettings
from memsift_workers.rankers.jev import FEATURES, features, weigh


def jev() -> Linear:
    """With the features that a worker makes of a question when it counts no words in Redis."""
    producer = settings.load(ProducerSettings)

    def table(one: Case) -> Table:
        kept = prefilter(
            one.query, one.memories, now=one.now, settings=producer, keep=producer.kept_for("jev")
        )
        job = RerankJob(
            id=one.id,
            query=one.query,
            now=one.now,
            turns=one.turns,
            candidates=tuple(by_kind(kept.kept)),
            deadline=1.0,
        )
        ids = tuple(memory.id for memory in job.candidates)
        return Table(ids, features(job), kept.pruned, one.gold)

    names = tuple(f"jev_weight_{name}" for name in FEATURES)
    defaults = np.array([WorkerSettings.model_fields[name].default for name in names], dtype=np.float64)
    return Linear("jev", names, defaults, -math.inf, table, weigh)
