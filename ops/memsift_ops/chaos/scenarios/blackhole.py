"""Redis swallows everything: connections stay open, no byte comes through. One caller's loop is busy."""

from __future__ import annotations

from memsift_ops.chaos.checks import OVER_MS, QUICK_OVER_MS, Check, quantile, share
from memsift_ops.chaos.stage import Result, Stage

DEADLINE_MS = 400
# Calls a second of each process, and for how long its loop is blocked every 100 ms.
RATES = (120.0, 60.0)
BURN_MS = (0.0, 20.0)


def play(stage: Stage) -> Result:
    """A quarter of the time all is well, half of it Redis is a black hole, then all is well again."""
    seconds = 3.2 if stage.quick else 60.0
    begin, end = seconds / 4, seconds * 3 / 4
    stage.runtime(prompt_ms=10.0, lanes=16)
    with stage.crew(
        len(RATES),
        rates=[((rate, seconds),) for rate in RATES],
        burn_ms=list(BURN_MS),
        deadline_ms=DEADLINE_MS,
    ) as crew:
        crew.until(begin)
        stage.world.network("redis", "blackhole")
        crew.until(end)
        stage.world.network("redis", "pass")
        crew.join(seconds)
    inside = [
        call for call in crew.calls() if call.started > crew.began + begin and call.ended < crew.began + end
    ]
    calm = [call.over_ms - call.lag_ms for call in inside if call.id.startswith(f"{stage.name}0")]
    busy = [call.over_ms - call.lag_ms for call in inside if call.id.startswith(f"{stage.name}1")]
    after = [call for call in crew.calls() if call.started > crew.began + end + 2]
    limit = stage.limit(OVER_MS, QUICK_OVER_MS)
    checks = [
        Check("in the black hole, return after the deadline at p99.9, ms", quantile(calm, 0.999), limit),
        Check("the same on a busy event loop, its lag taken off, ms", quantile(busy, 0.999), limit),
    ]
    if not stage.quick:
        by_model = share(sum(call.by_model for call in after), len(after))
        checks.append(Check("answered by the model from 2 s after it", by_model, 0.99, at_least=True))
    return stage.result(crew, checks, calls_inside=len(inside))
