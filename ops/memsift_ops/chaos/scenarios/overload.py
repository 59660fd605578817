"""Twice the calls that the model can take."""

from __future__ import annotations

from collections.abc import Sequence

from memsift_ops.chaos.checks import Check, share
from memsift_ops.chaos.record import Call
from memsift_ops.chaos.stage import Result, Stage

# 16 prompts at once, 80 ms each: 200 a second. The short form's 8 make 100: a storm that two slow cores can
# make and take, so that it is the model that is short and not the processor.
LANES, QUICK_LANES, PROMPT_MS = 16, 8, 80.0
PROCESSES = 2
WARM_S = 1.0
# "No collapse": what is still answered by the model during the storm, as a share of the capacity. The rest is
# what batches lose by waiting for their slowest prompt.
LEAST_SHARE, QUICK_LEAST_SHARE = 0.85, 0.4
# A batch or two that a busy machine makes late are 3% of the short form's four seconds: four runs alone had
# .3 to .9%, two behind the other scenarios 2.5 and 3.1%.
DEAD_SHARE, QUICK_DEAD_SHARE = 0.001, 0.05
NORMAL_WITHIN_S = 2.0
NORMAL, QUICK_NORMAL = 0.99, 0.8


def play(stage: Stage) -> Result:
    """Half the capacity, then twice, then half again."""
    storm, after = (4.0, 2.7) if stage.quick else (60.0, 15.0)
    lanes = QUICK_LANES if stage.quick else LANES
    capacity = lanes / PROMPT_MS * 1e3
    half, twice = capacity * 0.5 / PROCESSES, capacity * 2 / PROCESSES
    stage.runtime(prompt_ms=PROMPT_MS, lanes=lanes)
    with stage.crew(PROCESSES, rates=((half, WARM_S), (twice, storm), (half, after))) as crew:
        crew.join(WARM_S + storm + after + 30)
    calls = list(crew.calls())
    begin, end = crew.began + WARM_S, crew.began + WARM_S + storm
    in_storm = model_share(calls, begin, end, capacity)
    late = [call for call in calls if call.started > end + NORMAL_WITHIN_S]
    result = stage.result(
        crew,
        [
            Check(
                "in the storm, answers by the model over capacity",
                in_storm,
                stage.limit(LEAST_SHARE, QUICK_LEAST_SHARE),
                at_least=True,
            ),
            Check(
                "answered by the model from 2 s after the storm",
                share(sum(call.by_model for call in late), len(late)),
                stage.limit(NORMAL, QUICK_NORMAL),
                at_least=True,
            ),
        ],
        capacity_per_s=capacity,
        storm_thirds=[
            model_share(calls, begin + storm * at / 3, begin + storm * (at + 1) / 3, capacity)
            for at in range(3)
        ],
        normal_after_s=normal_after(calls, end),
        # By how much the callers lagged behind their plan: on a machine that is too busy to make a storm.
        behind_s=max((call.started for call in calls), default=end) - (end + after),
    )
    spent = result.spent
    result.checks.append(
        Check(
            "model time on jobs that expired, share",
            share(spent.dead_s, spent.busy_s),
            stage.limit(DEAD_SHARE, QUICK_DEAD_SHARE),
        )
    )
    return result


def model_share(calls: Sequence[Call], begin: float, end: float, capacity: float) -> float:
    """Answers by the model in this time over what the model could have given in it."""
    inside = sum(call.by_model and begin <= call.ended < end for call in calls)
    return inside / (capacity * (end - begin))


def normal_after(calls: Sequence[Call], end: float) -> float:
    """Seconds from the storm's end to the start of the last call that the model did not answer."""
    return max(
        (call.started - end for call in calls if call.started > end and not call.by_model), default=0.0
    )
