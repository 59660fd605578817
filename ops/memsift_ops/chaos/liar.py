"""A worker that sends spoiled replies to the caller's own reply list; every other time a good one follows.

    python -m memsift_ops.chaos.liar REDIS_URL QUEUE SEED FILE

FILE gets one line per job: how its reply was spoiled.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import redis

from memsift_ops.chaos.mutate import ODD, flipped, noise, spoil, truncated
from memsift_schemas import message, wire
from memsift_schemas.job import RerankJob
from memsift_schemas.result import Ranked, RerankResult, Source

WAIT_S = 1.0
RETRY_S = 0.2

Spoiling = Callable[[random.Random, bytes], bytes]


def good(job: RerankJob, chance: random.Random) -> bytes:
    """A reply that the caller should take: its candidates in some order."""
    ids = [memory.id for memory in job.candidates]
    chance.shuffle(ids)
    ranking = tuple(Ranked(id=one, score=-float(at)) for at, one in enumerate(ids))
    return wire.encode_reply(RerankResult(job_id=job.id, ranking=ranking, source=Source.MODEL))


def missing(chance: random.Random, raw: bytes) -> bytes:
    """A candidate is not ranked."""
    return _ranked(raw, lambda ranking: ranking.pop(chance.randrange(len(ranking))))


def twice(chance: random.Random, raw: bytes) -> bytes:
    """A candidate is ranked twice, perhaps in the place of another."""

    def change(ranking: list[Any]) -> None:
        ranking[chance.randrange(len(ranking))] = chance.choice(ranking)
        ranking.append(chance.choice(ranking))

    return _ranked(raw, change)


def foreign(chance: random.Random, raw: bytes) -> bytes:
    """Somebody else's memory stands among them."""
    return _ranked(raw, lambda ranking: chance.choice(ranking).update(id="another-0.0"))


def odd_field(chance: random.Random, raw: bytes) -> bytes:
    """One field of the reply, of its result or of a place is something else, or gone."""
    told = orjson.loads(raw)
    spoil(chance, chance.choice((told, told["result"], *told["result"]["ranking"])))
    return orjson.dumps(told)


def refusal(chance: random.Random, raw: bytes) -> bytes:
    """A refusal, whose cause may be no cause."""
    told = {
        "job_id": orjson.loads(raw)["result"]["job_id"],
        "cause": chance.choice(("runtime_garbage", *ODD)),
    }
    return orjson.dumps({"v": 1, "refusal": told})


WAYS: tuple[Spoiling, ...] = (
    truncated,
    flipped,
    noise,
    missing,
    twice,
    foreign,
    odd_field,
    odd_field,
    refusal,
)


def _ranked(raw: bytes, change: Callable[[list[Any]], Any]) -> bytes:
    told = orjson.loads(raw)
    change(told["result"]["ranking"])
    return orjson.dumps(told)


def answer(raw: bytes, chance: random.Random) -> tuple[str, str, list[bytes]]:
    """What is pushed for one message off the queue: how it was spoiled, where to, and what."""
    job = wire.load_job(message.read(raw).job)
    told = good(job, chance)
    way = chance.choice(WAYS)
    replies = [way(chance, told), *([told] if chance.random() < 0.5 else [])]  # noqa: PLR2004  # every other
    return way.__name__, job.reply_to or "", replies


def main(url: str, queue: str, seed: str, kept: Path) -> None:
    """Answer for ever."""
    chance = random.Random(seed)
    client = redis.Redis.from_url(url)
    with kept.open("a", buffering=1) as file:
        while True:
            try:
                popped: Any = client.brpop([queue], WAIT_S)
                if popped is not None:
                    name, reply_to, replies = answer(popped[1], chance)
                    client.rpush(reply_to, *replies)
                    file.write(name + "\n")
            except redis.RedisError:
                time.sleep(RETRY_S)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]))
