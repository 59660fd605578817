"""Predicted against measured, and whether that is close enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memsift_ops.planning.validation.predicting import Predicted
from memsift_ops.planning.validation.replaying import Measured
from memsift_ops.planning.validation.workloads import Workload

# What the simulator promises: the hit ratio within 5 points, relative times within 25%.
HIT_POINTS = 0.05
TIME_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Verdict:
    """One workload, predicted and measured.

    Attributes:
        name: of the workload.
        unseen: whether nothing of it went into the calibration.
        turns: how many were replayed.
        hit_ratio: predicted and measured.
        relative_time: mean CPU time of a turn over that of the reference workload, predicted and measured.
    """

    name: str
    unseen: bool
    turns: int
    hit_ratio: tuple[float, float]
    relative_time: tuple[float, float]

    @property
    def hit_error(self) -> float:
        """Predicted less measured."""
        return self.hit_ratio[0] - self.hit_ratio[1]

    @property
    def time_error(self) -> float:
        """Predicted over measured, less 1."""
        return self.relative_time[0] / self.relative_time[1] - 1

    @property
    def hit_is_close(self) -> bool:
        """Whether the hit ratio is as close as promised."""
        return abs(self.hit_error) <= HIT_POINTS

    @property
    def time_is_close(self) -> bool:
        """Whether the relative time is as close as promised."""
        return abs(self.time_error) <= TIME_SHARE

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        names = ("predicted", "measured")
        return {
            "name": self.name,
            "unseen": self.unseen,
            "turns": self.turns,
            "hit_ratio": dict(zip(names, self.hit_ratio, strict=True)),
            "relative_time": dict(zip(names, self.relative_time, strict=True)),
            "close": self.hit_is_close and self.time_is_close,
        }


def judge(
    workload: Workload,
    predicted: Predicted,
    measured: Measured,
    reference: tuple[float, float],
    *,
    unseen: bool,
) -> Verdict:
    """Compare.

    Args:
        workload: what was sent.
        predicted: by the simulator.
        measured: with the engine.
        reference: seconds of a turn of the workload that times are told relative to, predicted and measured.
        unseen: whether nothing of it went into the calibration.
    """
    turns = len(measured.cpu_s)
    seconds = (predicted.cpu_s / turns, float(measured.cpu_s.mean()))
    return Verdict(
        name=workload.name,
        unseen=unseen,
        turns=turns,
        hit_ratio=(predicted.hit_ratio, measured.hit_ratio),
        relative_time=(seconds[0] / reference[0], seconds[1] / reference[1]),
    )


def holds(verdicts: Sequence[Verdict]) -> bool:
    """Whether the simulator keeps its promise on all that it had not seen."""
    return all(verdict.hit_is_close and verdict.time_is_close for verdict in verdicts if verdict.unseen)
