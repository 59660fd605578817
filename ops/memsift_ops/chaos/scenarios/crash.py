"""One question kills the runtime whenever it gets there; seven others are in its batch, and callers call."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memsift_ops.chaos import question, sent
from memsift_ops.chaos.checks import Check
from memsift_ops.chaos.stage import Result, Stage
from memsift_schemas import wire
from memsift_schemas.errors import InvalidInput
from memsift_schemas.keys import reply_key
from memsift_schemas.result import Cause, Refusal, RerankResult

BATCHES = 3
MATES = 7
# The runtime is back half a second after it died, and may die twice for one batch.
BATCH_LIVES_S = 8.0
RATE = 20.0
# Of the batch, of the job alone, which is how it is found, and both once more.
MOST_DEATHS = 4
# What workers learn of each other's suspects, they learn within a second.
LEARN_S = 1.2


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of one batch.

    Attributes:
        mates_answered: how many harmless jobs of it got a ranking of their own candidates.
        deadly: the cause by which the deadly one was refused; empty when nothing came back.
        deaths: of the runtime, meanwhile.
    """

    mates_answered: int
    deadly: str
    deaths: int


def play(stage: Stage) -> Result:
    """Three batches with the same deadly question in them, one after another."""
    stage.runtime(prompt_ms=10.0, lanes=16)
    chance, batches = stage.chance(), []
    with stage.crew(1, rates=((RATE, BATCHES * 1.5),)) as crew:
        for number in range(BATCHES):
            stage.world.rest(LEARN_S if number else 0)
            batches.append(_batch(stage, number, chance))
        crew.join(30)
    checks = [
        Check("deaths of the runtime", sum(one.deaths for one in batches) or None, MOST_DEATHS),
        Check(
            "batch-mates without a ranking", BATCHES * MATES - sum(one.mates_answered for one in batches), 0
        ),
        Check("batches before the deadly job was quarantined", before_quarantine(batches), BATCHES - 1),
    ]
    return stage.result(
        crew, checks, deadly=[one.deadly for one in batches], deaths=[one.deaths for one in batches]
    )


def _batch(stage: Stage, number: int, chance: random.Random) -> Seen:
    world = stage.world
    runtime, reply_to = world.processes["runtime"], reply_key(world.queue, f"crash{number}")
    common: dict[str, Any] = {
        "queue": world.queue,
        "secret": stage.secret.planted,
        "reply_to": reply_to,
        "seconds": BATCH_LIVES_S,
    }
    mates = [f"mate{number}-{at}" for at in range(MATES)]
    batch = [sent.build(mate, **common) for mate in mates]
    batch.insert(chance.randrange(MATES + 1), sent.build("deadly", **common, mark=question.DEADLY))
    starts, until = runtime.starts, time.monotonic() + BATCH_LIVES_S
    # One command: a worker takes all of it at once.
    world.redis.lpush(world.queue, *batch)
    replies: list[RerankResult | Refusal] = []
    while len(replies) <= MATES and time.monotonic() < until:
        raw: Any = world.redis.lpop(reply_to, MATES + 1)
        replies += [reply for one in raw or () if (reply := _read(one)) is not None]
        world.tend()
        time.sleep(0.02)
    # One that died last is not up again yet.
    world.wait(lambda: runtime.running, BATCH_LIVES_S)
    return Seen(
        sum(_answers(replies, mate) for mate in mates),
        next((one.cause.value for one in replies if isinstance(one, Refusal) and one.job_id == "deadly"), ""),
        runtime.starts - starts,
    )


def _read(raw: bytes) -> RerankResult | Refusal | None:
    try:
        return wire.decode_reply(raw)
    except InvalidInput:
        return None


def _answers(replies: Sequence[RerankResult | Refusal], call: str) -> bool:
    ranked = [
        sorted(place.id for place in one.ranking)
        for one in replies
        if isinstance(one, RerankResult) and one.job_id == call
    ]
    return ranked == [[f"{call}.{at}" for at in range(sent.CANDIDATES)]]


def before_quarantine(batches: Sequence[Seen]) -> int | None:
    """How many batches came before those in which the deadly job was refused and cost nobody a runtime.

    Returns:
        None when it still was not in the last one.
    """
    kept = [one.deadly == Cause.QUARANTINED.value and not one.deaths for one in batches]
    if not kept or not kept[-1]:
        return None
    return max((at + 1 for at, flag in enumerate(kept) if not flag), default=0)
