"""A day's worth of small jobs, and whether memory stays flat."""

from __future__ import annotations

from memsift_ops.chaos.checks import Check
from memsift_ops.chaos.memory import MEBI, Growth
from memsift_ops.chaos.stage import Result, Stage

# A day's worth.
CALLS = 1_000_000
QUICK_CALLS = 3_000
PROCESSES = 2
CALLERS = 24
CANDIDATES = 3
DEADLINE_MS = 5_000
# What grows by less is flat: samples of the same process differ by as much.
FLAT_MIB = 8.0
FLAT_SHARE = 0.05
# A worker's caches (20,000 answers, 2 million tokens) are full after some 40,000 jobs, which the short form
# does not reach: there it takes a leak of a whole job, 10 KB, each time, to be seen.
QUICK_FLAT_MIB = 32.0
MOST_S = 7200.0
BY_MODEL = 0.95
# The harness's own processes are none of memsift's.
NOT_OURS = ("runtime", "sentry", "proxy", "events")


def play(stage: Stage) -> Result:
    """A model that takes no time, callers that do not think."""
    calls = QUICK_CALLS if stage.quick else CALLS
    world = stage.world
    stage.runtime(prompt_ms=0.0, lanes=64)
    world.memory.forget()
    with stage.crew(
        PROCESSES,
        calls=calls // PROCESSES,
        callers=CALLERS,
        candidates=CANDIDATES,
        deadline_ms=DEADLINE_MS,
    ) as crew:
        crew.join(MOST_S)
    found = {name: one for name, one in world.memory.growth().items() if name not in NOT_OURS}
    checks = [
        Check(f"memory added by {name}, MiB", one.mib, allowed(one, quick=stage.quick))
        for name, one in sorted(found.items())
    ]
    missing = {"valkey", *world.worker_names, *(f"{stage.name}{at}" for at in range(PROCESSES))} - set(found)
    checks += [Check(f"memory added by {name}, MiB", None, FLAT_MIB) for name in sorted(missing)]
    used = world.redis.info("memory")["used_memory"]
    memory = {name: {"warm_mib": one.warm_mib, "end_mib": one.end_mib} for name, one in found.items()}
    result = stage.result(crew, checks, memory=memory, redis_used_mib=used / MEBI)
    # Memory that is flat because nothing was done would prove nothing.
    share = result.tally.by_model / result.tally.expected
    result.checks.append(Check("answered by the model", share, BY_MODEL, at_least=True))
    return result


def allowed(one: Growth, *, quick: bool) -> float:
    """MiB that a process may add and still count as flat."""
    return QUICK_FLAT_MIB if quick else max(FLAT_MIB, FLAT_SHARE * one.warm_mib)
