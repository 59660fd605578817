"""A chaos run: one world, the scenarios in it, the search for secrets after it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from memsift_ops.chaos import secret as secrets
from memsift_ops.chaos.scenarios import SCENARIOS
from memsift_ops.chaos.stage import Result, Stage
from memsift_ops.chaos.world import World

# What a run leaves that may hold no secret: output of every process, what Sentry got, what monitors saw.
SEARCHED = ("*.log", "*.sent", "*.seen", "*.calls", "*.spent")


def play(
    names: Sequence[str],
    *,
    folder: Path,
    seed: int,
    quick: bool,
    fault: str = "",
    loglevel: str = "DEBUG",
    on_scenario: Callable[[str], None] = lambda _name: None,
    on_tick: Callable[[], None] = lambda: None,
) -> tuple[list[Result], dict[str, int]]:
    """Play scenarios one after another.

    Args:
        names: which, of `SCENARIOS`.
        folder: of logs and records; must be empty.
        seed: of all random choices.
        quick: the short form of each.
        fault: one of `stage.FAULTS`, to see a check fail; or empty.
        loglevel: the workers'.
        on_scenario: is told which one begins.
        on_tick: called a few times a second.

    Returns:
        What each found, and where planted secrets stood (file name -> how often).

    Raises:
        Failure: a process of the harness did not come up.
    """
    secret = secrets.plant(seed)
    world = World(folder, workers=2, loglevel=loglevel)
    world.on_tick = on_tick
    results = []
    with world.running():
        for name in names:
            on_scenario(name)
            began = time.monotonic()
            # What one scenario left in Redis is no other's.
            world.wipe()
            world.healthy()
            for process in world.processes.values():
                process.own_ends.clear()
            inside = folder / name
            inside.mkdir()
            stage = Stage(name, world, seed, secret, quick=quick, fault=fault, folder=inside)
            results.append(SCENARIOS[name](stage))
            results[-1].detail["seconds"] = round(time.monotonic() - began, 1)
    searched = [path for pattern in SEARCHED for path in sorted(folder.rglob(pattern))]
    return results, secrets.leaks(searched, secret)
