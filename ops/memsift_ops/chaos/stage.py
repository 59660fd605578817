"""What every scenario has: the world, a folder, a seed, and how its result is put together."""

from __future__ import annotations

import dataclasses
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memsift_ops.chaos.checks import OVER_MS, QUICK_OVER_MS, Check, Tally, always, quantile, tally
from memsift_ops.chaos.crew import Crew
from memsift_ops.chaos.lanes import Spent
from memsift_ops.chaos.plan import CALLER_FAULTS, Plan
from memsift_ops.chaos.secret import Secret
from memsift_ops.chaos.world import World

# The fault that makes the fake model's clock run ahead, so that all it does is in vain.
DEAD_FAULT = "dead"
FAULTS = (*CALLER_FAULTS, DEAD_FAULT)
AHEAD_S = 3600.0


@dataclass(frozen=True, slots=True)
class Result:
    """What a scenario found.

    Attributes:
        name: the scenario's.
        tally: its calls.
        checks: its promises.
        spent: model time in it.
        detail: more numbers, for JSON.
    """

    name: str
    tally: Tally
    checks: list[Check]
    spent: Spent
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a scenario plays.

    Attributes:
        name: the scenario's.
        world: all other processes.
        seed: of all its random choices.
        secret: planted in all texts.
        quick: the short form, for CI.
        fault: one of `FAULTS` or empty.
        folder: of its records and logs.
    """

    name: str
    world: World
    seed: int
    secret: Secret
    quick: bool
    fault: str
    folder: Path

    def limit(self, long: float, quick: float) -> float:
        """The limit of a check in which the machine's speed has a say: wide in the short form."""
        return quick if self.quick else long

    def chance(self) -> random.Random:
        """The scenario's own dice."""
        return random.Random(f"{self.seed} {self.name}")

    def crew(self, processes: int, *, others_ready: Callable[[], bool] = lambda: True, **plan: Any) -> Crew:
        """Callers by this plan, so many processes of it; `calls` and `callers` are each process's.

        Args:
            processes: how many.
            others_ready: see `Crew`.
            **plan: fields of `Plan`; a list has one value per process.
        """
        plans = []
        for at in range(processes):
            fields = {name: value[at] if isinstance(value, list) else value for name, value in plan.items()}
            name = f"{self.name}{at}"
            common = {
                "seed": self.chance().getrandbits(32) + at,
                "secret": self.secret.planted,
                "redis_url": self.world.redis_url,
                "queue": self.world.queue,
                "dsn": self.world.dsn,
                "folder": str(self.folder),
                "fault": self.fault if self.fault in CALLER_FAULTS else "",
            }
            plans.append(Plan(name=name, **{**common, **fields}))
        return Crew(self.world, self.folder, plans, others_ready)

    def runtime(self, **told: Any) -> None:
        """Tell the fake model what to do in this scenario."""
        self.world.tell_runtime(**told, ahead_s=AHEAD_S if self.fault == DEAD_FAULT else 0.0)

    def result(self, crew: Crew, checks: list[Check], **detail: Any) -> Result:
        """Count the calls and put the scenario's result together."""
        found = tally(crew.calls(), crew.expected)
        spent = spent_between(self.world.folder / "runtime.spent", crew.began, time.time())
        ends = {name: process.own_ends for name, process in self.world.processes.items() if process.own_ends}
        workers = sum(len(ends.get(name, ())) for name in self.world.worker_names)
        common = {
            "over_deadline_ms": _quantiles(found.over_ms),
            "over_deadline_less_lag_ms": _quantiles(found.own_ms),
            "loop_lag_ms": crew.lag_ms(),
            "model_time": dataclasses.asdict(spent),
            "ended_by_themselves": ends,
        }
        over_ms = self.limit(OVER_MS, QUICK_OVER_MS)
        kept = [
            *always(found, over_ms=over_ms),
            Check("workers that ended by themselves", workers, 0),
            *checks,
        ]
        return Result(self.name, found, kept, spent, {**common, **detail})


def spent_between(path: Path, began: float, ended: float) -> Spent:
    """Model time of the requests that ended in this time."""
    total = Spent()
    for line in _lines(path):
        if began <= line.pop("at") <= ended:
            one = Spent(**line)
            total.prompts += one.prompts
            total.busy_s += one.busy_s
            total.dead_s += one.dead_s
            total.late_start_s += one.late_start_s
    return total


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        with path.open() as file:
            # A killed process may have left its last line unfinished.
            yield from (json.loads(line) for line in file if line.endswith("}\n"))


def _quantiles(values: list[float]) -> dict[str, float | None]:
    return {name: quantile(values, share) for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))}
