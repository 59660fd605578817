"""Callers that go away before they are answered: their jobs are to cost no more model time."""

from __future__ import annotations

import json
from pathlib import Path

from memsift_ops.chaos.checks import Check, share
from memsift_ops.chaos.stage import Result, Stage

# Bursts of 80 calls: the runtime takes 24 of them at once, so the others wait longer than half of their
# callers; all who stay are answered within the second that the breaker allows. Lanes enough that none waits
# inside of the model.
PROMPT_MS, LANES = 200.0, 64
BURST = ((800.0, 0.1), (0.0, 0.9))
LEAVE_MS = 100.0
DEADLINE_MS = 4_000
# Of the model's time: between a batch's last look at the marks and the model lie two requests, for tokens and
# for answers; whoever leaves meanwhile is too late. One prompt more or less is 0.008 in the short form.
IN_VAIN, QUICK_IN_VAIN = 0.05, 0.2
# Of those who left: the others' jobs were in the runtime already, with jobs that are waited for.
SPARED, QUICK_SPARED = 0.2, 0.1
COUNTED = 0.9
BY_MODEL, QUICK_BY_MODEL = 0.99, 0.8


def play(stage: Stage) -> Result:
    """Every other caller leaves after 100 ms of a call that takes 200 ms and more."""
    bursts = 2 if stage.quick else 20
    seen = stage.world.folder / "events.seen"
    stage.runtime(prompt_ms=PROMPT_MS, lanes=LANES)
    before = seen.stat().st_size
    with stage.crew(1, rates=BURST * bursts, leave_ms=LEAVE_MS, deadline_ms=DEADLINE_MS) as crew:
        crew.join(bursts + 30)
    # Workers tell their events a tenth of a second later.
    stage.world.rest(0.3)
    dropped = withdrawn(seen, before)
    result = stage.result(crew, [], dropped=dropped)
    left, spent = result.tally.left, result.spent
    result.checks.extend(
        [
            Check("counted as cancelled by workers, share", share(dropped, left), COUNTED, at_least=True),
            Check(
                "of those whose caller left, jobs that cost no model time, share",
                share(left + result.tally.by_model - spent.prompts, left),
                stage.limit(SPARED, QUICK_SPARED),
                at_least=True,
            ),
            Check(
                "model time that began when the caller had left",
                share(spent.late_start_s, spent.busy_s),
                stage.limit(IN_VAIN, QUICK_IN_VAIN),
            ),
            Check(
                "callers that stayed and were answered by the model",
                share(result.tally.by_model, result.tally.expected - left),
                stage.limit(BY_MODEL, QUICK_BY_MODEL),
                at_least=True,
            ),
        ]
    )
    return result


def withdrawn(seen: Path, start: int) -> int:
    """Jobs that workers dropped because nobody waited any more, by the events from this byte on."""
    with seen.open("rb") as file:
        file.seek(start)
        events = [json.loads(line) for line in file if line.endswith(b"}\n")]
    return sum(one["type"] == "task-revoked" and not one["expired"] for one in events)
