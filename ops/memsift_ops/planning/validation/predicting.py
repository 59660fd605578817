"""Calibrates the simulator on some workloads and predicts others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memsift_ops.planning.card_queue import Batching
from memsift_ops.planning.roofline import Roofline
from memsift_ops.planning.simulate import Setup, replay
from memsift_ops.planning.traffic import Traffic
from memsift_ops.planning.validation.replaying import Measured
from memsift_ops.planning.validation.workloads import MODEL, Workload

# One call after the other, however long it takes: as the workloads are replayed.
ONE_BY_ONE = Batching(most=1, wait_s=0.0, deadline_s=float("inf"))
# A projection onto the vocabulary, in the unit of a token's way through the layers.
ROW = MODEL.vocabulary_parameters / MODEL.layer_parameters


@dataclass(frozen=True, slots=True)
class Predicted:
    """What the simulator says of a workload.

    Attributes:
        hit_ratio: share of the prompts' tokens that come from the cache.
        cpu_s: CPU seconds of all turns.
    """

    hit_ratio: float
    cpu_s: float


def calibrate(known: Sequence[tuple[Workload, Measured]]) -> Roofline:
    """Fit seconds for a turn, a prompt, a computed token and a pair of tokens in attention, by least squares.

    A negative one is left out: it would be noise.

    Args:
        known: workloads and what their turns took.
    """
    rows, seconds = [], []
    for workload, measured in known:
        arrivals = workload.arrivals()
        table = workload.turn_table(int(arrivals.turns.max()) + 1)
        for turn, asked, cached, cpu_s in zip(
            arrivals.turns, measured.asked, measured.cached, measured.cpu_s, strict=True
        ):
            # What one call's prompts share is computed once and counted as cached in all others.
            hit = int(cached) - (int(asked) - int(table.computed[turn]))
            work = table.work(int(turn), hit)
            rows.append((1.0, work.prompts, work.tokens + work.rows * ROW, work.pairs))
            seconds.append(cpu_s)
    overhead, per_prompt, per_token, per_pair = _not_negative(np.array(rows), np.array(seconds))
    return Roofline(
        per_token=per_token,
        per_pair=per_pair,
        per_row=per_token * ROW,
        per_batch_read=0.0,
        per_seen=0.0,
        overhead=overhead,
        per_prompt=per_prompt,
    )


def predict(workload: Workload, roofline: Roofline) -> Predicted:
    """Simulate a workload that nothing was measured of.

    Args:
        workload: what will be sent.
        roofline: as calibrated on others.
    """
    arrivals = workload.arrivals()
    setup = Setup(
        roofline=roofline,
        room=workload.room,
        layout=workload.layout,
        prompt=workload.prompt,
        traffic=Traffic(1.0, workload.turns, 1.0, 1),
        batching=ONE_BY_ONE,
    )
    table = workload.turn_table(int(arrivals.turns.max()) + 1)
    outcome = replay(setup, arrivals, 1, turns=table)
    return Predicted(outcome.hit_ratio, outcome.busy_s)


def _not_negative(rows: npt.NDArray[np.float64], seconds: npt.NDArray[np.float64]) -> list[float]:
    """Least squares with coefficients of 0 or more: the most negative one is dropped until none is."""
    kept = list(range(rows.shape[1]))
    while True:
        fitted = np.linalg.lstsq(rows[:, kept], seconds, rcond=None)[0]
        if fitted.min() >= 0:
            found = dict(zip(kept, fitted.tolist(), strict=True))
            return [found.get(at, 0.0) for at in range(rows.shape[1])]
        kept.pop(int(fitted.argmin()))
