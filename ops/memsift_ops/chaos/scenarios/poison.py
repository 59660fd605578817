"""Mutated messages among well-formed ones."""

from __future__ import annotations

import time

from memsift_ops.chaos import mutate
from memsift_ops.chaos.checks import Check
from memsift_ops.chaos.stage import Result, Stage

MUTANTS = 1_000
RATE = 60.0
DEADLINE_MS = 3_000
HUGE_BYTES = 50 * 1_000_000
BURST = 20


def play(stage: Stage) -> Result:
    """A burst of 20 mutants again and again, one of 50 MB among them, while callers call."""
    seconds = 5.0 if stage.quick else 30.0
    world = stage.world
    stage.runtime(prompt_ms=5.0, lanes=16)
    before = {name: world.processes[name].pid for name in world.worker_names}
    mutants = mutate.mutants(stage.chance(), MUTANTS, queue=world.queue, secret=stage.secret.planted)
    bursts = MUTANTS // BURST
    with stage.crew(1, rates=((RATE, seconds),), deadline_ms=DEADLINE_MS) as crew:
        for at in range(bursts):
            crew.until(seconds * (at + 0.5) / bursts)
            world.redis.lpush(world.queue, *mutants[at * BURST : (at + 1) * BURST])
            if at == bursts // 2:
                world.redis.lpush(world.queue, b"x" * HUGE_BYTES)
        crew.join(30)
    died = sum(
        world.processes[name].pid != pid or not world.processes[name].running for name, pid in before.items()
    )
    missed = sum(not call.by_model for call in crew.calls())
    until = time.time() + 5
    while (left := world.redis.llen(world.queue)) and time.time() < until:
        world.rest(0.1)
    checks = [
        Check("workers that did not live", died, 0),
        Check("well-formed neighbours that the model did not answer", missed, 0),
        Check("messages left in the queue", left, 0),
    ]
    return stage.result(crew, checks, mutants=MUTANTS, huge_bytes=HUGE_BYTES)
