"""From rankings to the numbers of `memsift bench rank`."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from memsift_ops.datasets import Case
from memsift_ops.evaluation import quality
from memsift_ops.peers.summary import percentile
from memsift_ops.rank_bench.ranked import Ranked


def numbers(cases: Sequence[Case], answers: Sequence[Ranked], *, seed: int) -> dict[str, Any]:
    """Means of the quality with the 95% interval of the MRR, percentiles of the time, CPU per question."""
    values = np.array(
        [quality.of_ranking(one.ranking, case.gold) for case, one in zip(cases, answers, strict=True)]
    )
    means = dict(zip(quality.METRICS, values.mean(axis=0).round(4).tolist(), strict=True))
    spread = dict(zip(quality.METRICS, quality.intervals(values, seed=seed), strict=True))
    ms = [one.ms for one in answers]
    return {
        **means,
        "mrr_ci95": [round(end, 4) for end in spread["mrr"]],
        "questions": len(answers),
        **{f"p{share}_ms": round(percentile(ms, share, len(ms)), 3) for share in (50, 95, 99)},
        "cpu_ms": round(statistics.fmean(one.cpu_ms for one in answers), 3),
    }
