"""Real messages, spoiled: truncated, bit-flipped, of wrong types, huge, nested, no JSON at all."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import orjson

from memsift_ops.chaos import sent
from memsift_schemas.keys import reply_key

# Values that are of another type, or out of any range, wherever they land.
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1e308, 2**53, "", "\x00", "a" * 5000, [], {}, [[]], {"v": 99}),
    *("../../etc/passwd", "memsift.chaos", "\ud7ff\u202e", "9" * 400, "1970-01-01T00:00:00Z", ["x"] * 500),
)
DEPTH = 2_000
MUTANT_LIVES_S = 1.0


def mutants(chance: random.Random, count: int, *, queue: str, secret: str) -> list[bytes]:
    """So many spoiled messages; the same seed gives the same faults.

    Args:
        chance: the dice.
        count: how many.
        queue: what the messages say they are on; their reply list is nobody's.
        secret: stands in their texts.
    """
    made = [
        sent.build(
            f"mutant-{at}",
            queue=queue,
            secret=secret,
            reply_to=reply_key(queue, "mutants"),
            seconds=MUTANT_LIVES_S,
        )
        for at in range(count)
    ]
    return [chance.choice(WAYS)(chance, raw) for raw in made]


def truncated(chance: random.Random, raw: bytes) -> bytes:
    """Cut anywhere."""
    return raw[: chance.randrange(1, len(raw))]


def flipped(chance: random.Random, raw: bytes) -> bytes:
    """One to twenty bits the other way."""
    data = bytearray(raw)
    for _ in range(chance.randint(1, 20)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data)


def noise(chance: random.Random, _raw: bytes) -> bytes:
    """Nothing that was ever a message."""
    return chance.randbytes(chance.randint(1, 5_000))


def nested(_chance: random.Random, raw: bytes) -> bytes:
    """A body of brackets in brackets, deeper than a parser's stack."""
    told = orjson.loads(raw)
    told["body"] = "[" * DEPTH + "]" * DEPTH
    return orjson.dumps(told)


def odd_header(chance: random.Random, raw: bytes) -> bytes:
    """One field of the envelope is something else, or gone."""
    told = orjson.loads(raw)
    part = chance.choice((told, told["headers"], told["properties"]))
    spoil(chance, part)
    return orjson.dumps(told)


def odd_job(chance: random.Random, raw: bytes) -> bytes:
    """One field somewhere in the job is something else, or gone."""
    told = orjson.loads(raw)
    body = orjson.loads(told["body"])
    part: Any = body[1]["job"]
    while chance.random() < 0.5:  # noqa: PLR2004  # half of them one step deeper
        inner = [value for value in (part.values() if isinstance(part, dict) else part) if value]
        deeper = [value for value in inner if isinstance(value, dict | list)]
        if not deeper:
            break
        part = chance.choice(deeper)
    spoil(chance, part)
    told["body"] = orjson.dumps(body).decode()
    return orjson.dumps(told)


def huge(chance: random.Random, raw: bytes) -> bytes:
    """A megabyte in one text of the job."""
    told = orjson.loads(raw)
    body = orjson.loads(told["body"])
    body[1]["job"]["query"] = "字" * chance.randint(300_000, 400_000)
    told["body"] = orjson.dumps(body).decode()
    return orjson.dumps(told)


def spoil(chance: random.Random, part: Any) -> None:
    """One of its fields or items becomes something else, or goes."""
    at: Any = chance.choice(list(part)) if isinstance(part, dict) else chance.randrange(len(part))
    if chance.random() < 0.25:  # noqa: PLR2004  # a quarter is gone, the rest is odd
        del part[at]
    else:
        part[at] = chance.choice(ODD)


WAYS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    *(truncated, flipped, flipped, noise, nested, huge),
    *(odd_header, odd_header, odd_header, odd_job, odd_job, odd_job, odd_job),
)
