"""The caller processes of one scenario: started, let go at once, waited for, read."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from memsift_ops.chaos import record
from memsift_ops.chaos.plan import Plan
from memsift_ops.chaos.record import Call
from memsift_ops.chaos.world import World
from memsift_ops.child import Child
from memsift_ops.errors import Failure

READY_S = 60.0


class Crew:
    """Callers that begin together. Leaving the `with` block ends those that still run.

    Args:
        world: what they call.
        folder: of this scenario; records and logs go there.
        plans: one per process.
        others_ready: whether what else a scenario started is ready too; nobody calls before.
    """

    def __init__(
        self, world: World, folder: Path, plans: Sequence[Plan], others_ready: Callable[[], bool]
    ) -> None:
        self._world = world
        self._folder = folder
        self._plans = plans
        self._children: dict[str, Child] = {}
        self._others_ready = others_ready
        self.began = 0.0

    @property
    def expected(self) -> int:
        """How many calls they make."""
        return sum(plan.expected for plan in self._plans)

    @property
    def finished(self) -> bool:
        """Whether all have ended."""
        return all(child.returncode is not None for child in self._children.values())

    def __enter__(self) -> Self:
        # A caller finds its address in its plan, not in whatever this shell has set.
        environment = {key: value for key, value in os.environ.items() if not key.startswith("MEMSIFT_")}
        for plan in self._plans:
            # A file: an argument would stand in every Sentry event, and with it the secret.
            told = self._folder / f"{plan.name}.plan"
            told.write_text(plan.dump())
            self._children[plan.name] = Child(
                plan.name,
                [sys.executable, "-m", "memsift_ops.chaos.caller", str(told)],
                environment={**environment, "PYTHONUNBUFFERED": "1"},
                sink=self._keep,
            )
        self._world.guests = {name: child.pid for name, child in self._children.items()}
        if not self._world.wait(lambda: self._ready() and self._others_ready(), READY_S):
            lines = [line for child in self._children.values() for line in child.last_lines(5)]
            raise Failure("the callers, or what they need, were not ready in time", log=lines)
        (self._folder / "go").touch()
        self.began = time.time()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._children.values():
            child.terminate()
        for child in self._children.values():
            child.wait(hurry=lambda: False)
        self._world.guests = {}

    def _ready(self) -> bool:
        return all((self._folder / f"{plan.name}.ready").exists() for plan in self._plans)

    def _keep(self, name: str, line: str) -> None:
        with (self._folder / f"{name}.log").open("a", encoding="utf-8") as log:
            log.write(line + "\n")

    def until(self, seconds: float) -> None:
        """Tend the world until so long after the beginning."""
        self._world.rest(max(self.began + seconds - time.time(), 0))

    def join(self, limit_s: float) -> None:
        """Wait until all have made their calls; whoever has not by then is unanswered."""
        self._world.wait(lambda: self.finished, limit_s)

    def calls(self) -> Iterator[Call]:
        """What they recorded."""
        return record.read(sorted(self._folder.glob("*.calls")))

    def lag_ms(self) -> dict[str, int]:
        """How late the loops' own tickers fired: the p50, p99 and the most, all processes together."""
        late: Counter[int] = Counter()
        for path in self._folder.glob("*.lag"):
            late.update({int(ms): ticks for ms, ticks in json.loads(path.read_text()).items()})
        ordered = sorted(late.elements())
        if not ordered:
            return {}
        return {
            "p50": ordered[len(ordered) // 2],
            "p99": ordered[len(ordered) * 99 // 100],
            "most": ordered[-1],
        }
