"""kill -9 of workers, Redis and runtime at random moments, resets and delays between them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from memsift_ops.chaos.checks import Check, share
from memsift_ops.chaos.stage import Result, Stage
from memsift_ops.chaos.world import World

DELAY_MS = 60.0
FAULT_S = 0.5


@dataclass(frozen=True, slots=True)
class Size:
    """How much of it.

    Attributes:
        calls: in all.
        processes: that make them.
        callers: in each.
        think_s: mean pause of each.
        every_s: seconds per round of kills.
    """

    calls: int
    processes: int
    callers: int
    think_s: float
    every_s: float


FULL = Size(calls=100_000, processes=4, callers=600, think_s=4.0, every_s=10.0)
QUICK = Size(calls=1_600, processes=2, callers=400, think_s=2.5, every_s=2.5)
MOST_S = 1200.0
# Rankings that are all the prefilter's would prove nothing about the model's.
BY_MODEL = 0.01


def play(stage: Stage) -> Result:
    """Each round kills one worker, Valkey and the runtime, each at a moment of its own.

    Beside that, each round resets all of one route's connections, delays another, and has the model answer
    nonsense, each for half a second.
    """
    size = QUICK if stage.quick else FULL
    world, chance = stage.world, stage.chance()
    stage.runtime(prompt_ms=10.0, lanes=16)
    kills = {name: process.starts for name, process in world.processes.items()}
    with stage.crew(
        size.processes, calls=size.calls // size.processes, callers=size.callers, think_s=size.think_s
    ) as crew:
        round_no = 0
        while not crew.finished and round_no * size.every_s < MOST_S:
            for moment, act in _round(world, chance, size.every_s):
                crew.until(round_no * size.every_s + moment)
                if crew.finished:
                    break
                act()
            round_no += 1
        crew.join(30)
    world.healthy()
    restarts = {
        name: process.starts - kills[name]
        for name, process in world.processes.items()
        if process.starts > kills[name]
    }
    workers = sum(restarts.get(name, 0) for name in world.worker_names)
    struck = (restarts.get("valkey", 0), restarts.get("runtime", 0), workers)
    checks = [
        Check("kills of Valkey, of the runtime and of workers, the fewest", min(struck), 1, at_least=True)
    ]
    result = stage.result(crew, checks, restarts=restarts, rounds=round_no)
    by_model = share(result.tally.by_model, result.tally.expected)
    result.checks.append(Check("answered by the model, share", by_model, BY_MODEL, at_least=True))
    return result


def _round(world: World, chance: random.Random, every_s: float) -> list[tuple[float, Callable[[], None]]]:
    """What happens in one round and when, in its order."""
    victims = [chance.choice(world.worker_names), "valkey", "runtime"]
    acts: list[tuple[float, Callable[[], None]]] = [
        (chance.uniform(0, every_s), world.processes[name].kill) for name in victims
    ]
    for mode, delay_ms in (("reset", 0.0), ("pass", DELAY_MS)):
        route = chance.choice(("redis", "worker-redis", "model"))
        moment = chance.uniform(0, every_s - FAULT_S)
        acts.append((moment, _setting(world, route, mode, delay_ms)))
        acts.append((moment + FAULT_S, _setting(world, route, "pass", 0.0)))
    moment = chance.uniform(0, every_s - FAULT_S)
    acts.append((moment, lambda: world.tell_runtime(mode="wrong")))
    acts.append((moment + FAULT_S, lambda: world.tell_runtime(mode="ok")))
    return sorted(acts, key=lambda act: act[0])


def _setting(world: World, route: str, mode: str, delay_ms: float) -> Callable[[], None]:
    return lambda: world.network(route, mode, delay_ms)
