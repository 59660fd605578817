"""A runtime without a model: takes a fixed time per batch and scores by a fixed rule. For load tests.

It measures everything around the model: queue, drain, replies. Its rankings mean nothing.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence

import orjson

from memsift_workers.runtimes.base import Answer, Call, Json, Labels, RuntimeTimeout


class ScriptedRuntime:
    """Answers every batch after the same time, deterministically by a checksum of the prompt."""

    name = "scripted"
    model = "none"

    def __init__(self, *, seconds_per_batch: float) -> None:
        self._seconds = seconds_per_batch

    async def start(self) -> None:
        """Nothing to load."""

    async def usable_labels(self, labels: Sequence[str]) -> tuple[str, ...]:
        """Every label is taken."""
        return tuple(labels)

    async def run(self, calls: Sequence[Call], *, timeout: float) -> list[Answer]:
        """Answer after the fixed time.

        Raises:
            RuntimeTimeout: the fixed time is longer than `timeout`.
        """
        if timeout < self._seconds:
            await asyncio.sleep(timeout)
            raise RuntimeTimeout("the scripted batch takes longer than the time given")
        await asyncio.sleep(self._seconds)
        return [_answer(call) for call in calls]

    async def close(self) -> None:
        """Nothing to give back."""


def _answer(call: Call) -> Answer:
    seed = zlib.crc32("\0".join((*call.prefix, call.suffix)).encode())
    match call.wish:
        case Labels(labels):
            logprobs = tuple(-1.0 - (seed >> at % 24) % 97 / 97 for at in range(len(labels)))
        case Json(schema):
            names = schema["properties"]["ranking"]["items"]["enum"]
            first = seed % len(names)
            ranking = (names[first:] + names[:first])[: schema["properties"]["ranking"]["maxItems"]]
            return Answer(text=orjson.dumps({"ranking": ranking, "reason": "scripted"}).decode())
        case _:
            logprobs = (-1.0 - seed % 997 / 997,)
    return Answer(logprobs=logprobs, prompt_tokens=1)
