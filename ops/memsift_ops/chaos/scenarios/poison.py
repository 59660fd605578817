"""Mutated messages among well-formed ones, mutated replies to others, and a real Flower that shows it all."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

from celery import Celery

from memsift_ops import services, valkey
from memsift_ops.chaos import flower, mutate
from memsift_ops.chaos.checks import Check, share
from memsift_ops.chaos.plan import LEAK_FAULT
from memsift_ops.chaos.stage import Result, Stage

MUTANTS = 1_000
# Well-formed calls that workers answer, and calls that a liar answers, per second.
RATES = (60.0, 60.0)
DEADLINES_MS = (3_000, 400)
HUGE_BYTES = 50 * 1_000_000
BURST = 20
# Every other lie is followed by a good reply, which half of the lies, those that name no job, leave in force.
LIED_TO_BY_MODEL = 0.1


def play(stage: Stage) -> Result:
    """A burst of 20 mutants again and again, one of 50 MB among them, while callers call."""
    seconds = 3.0 if stage.quick else 30.0
    world = stage.world
    lies, port = stage.folder / "lies", valkey.free_port()
    deceived = f"{world.queue}.deceived"
    liar = [
        sys.executable,
        "-m",
        "memsift_ops.chaos.liar",
        world.direct_url,
        deceived,
        str(stage.seed),
        str(lies),
    ]
    stage.runtime(prompt_ms=5.0, lanes=16)
    before = {name: world.processes[name].pid for name in world.worker_names}
    mutants = mutate.mutants(stage.chance(), MUTANTS, queue=world.queue, secret=stage.secret.planted)
    bursts = MUTANTS // BURST
    with world.also("flower", services.flower_command(port), flower.OPEN_API), world.also("liar", liar):
        with stage.crew(
            2,
            rates=[((rate, seconds),) for rate in RATES],
            deadline_ms=list(DEADLINES_MS),
            queue=[world.queue, deceived],
            others_ready=lambda: services.flower_answers(port),
        ) as crew:
            for at in range(bursts):
                crew.until(seconds * (at + 0.5) / bursts)
                world.redis.lpush(world.queue, *mutants[at * BURST : (at + 1) * BURST])
                if at == bursts // 2:
                    world.redis.lpush(world.queue, b"x" * HUGE_BYTES)
            crew.join(30)
        if stage.fault == LEAK_FAULT:
            _show(world.direct_url, stage.secret.planted)
        left = _left_in_queue(stage)
        shown = flower.scrape(f"http://127.0.0.1:{port}", world.folder / "flower.seen")
    died = sum(
        world.processes[name].pid != pid or not world.processes[name].running for name, pid in before.items()
    )
    neighbours = [call for call in crew.calls() if call.id.startswith(f"{stage.name}0-")]
    deceived_calls = [call for call in crew.calls() if call.id.startswith(f"{stage.name}1-")]
    told = _told(lies)
    checks = [
        Check("workers that did not live", died, 0),
        Check(
            "well-formed neighbours that the model did not answer",
            sum(not one.by_model for one in neighbours),
            0,
        ),
        Check("messages left in the queue", left, 0),
        Check("spoiled replies", told.total(), len(deceived_calls) / 2, at_least=True),
        Check(
            "good replies that were taken in spite of a spoiled one, share",
            share(sum(call.by_model for call in deceived_calls), len(deceived_calls)),
            LIED_TO_BY_MODEL,
            at_least=True,
        ),
        Check("jobs that Flower shows", shown.jobs, len(neighbours) / 2, at_least=True),
    ]
    return stage.result(
        crew,
        checks,
        mutants=MUTANTS,
        huge_bytes=HUGE_BYTES,
        lies=dict(told.most_common()),
        flower_could_not_show=shown.failed,
    )


def _left_in_queue(stage: Stage) -> int:
    world, until = stage.world, time.time() + 5
    while (left := world.redis.llen(world.queue)) and time.time() < until:
        world.rest(0.1)
    return int(left)


def _told(lies: Path) -> Counter[str]:
    return Counter(lies.read_text().split()) if lies.exists() else Counter()


def _show(url: str, secret: str) -> None:
    """The fault that the search of Flower and events must find: an event with what nobody may see."""
    app = Celery("chaos-leak", broker=url, set_as_current=False)
    with app.connection() as connection, app.events.Dispatcher(connection) as dispatcher:
        dispatcher.send("task-received", uuid="chaos-leak", name="memsift.rerank", args="()", kwargs=secret)
    time.sleep(0.5)
