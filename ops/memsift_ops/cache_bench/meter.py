"""Counts what really reaches an engine, below the memory for answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memsift_workers.runtimes.base import Answer, Call, Runtime
from memsift_workers.runtimes.wrapper import Wrapper
from memsift_workers.strategies.listwise import NOTHING


@dataclass(slots=True)
class Count:
    """Tokens of the prompts of one turn.

    Attributes:
        prompt: of all prompts.
        cached: of them from the cache.
        asked: of the prompts that hold the question, without the pass over no question.
        asked_cached: of them from the cache.
    """

    prompt: int = 0
    cached: int = 0
    asked: int = 0
    asked_cached: int = 0


class Meter(Wrapper):
    """A runtime that is shared and counted; whoever started it closes it."""

    def __init__(self, inner: Runtime) -> None:
        super().__init__(inner)
        self.count = Count()

    async def start(self) -> None:
        """It is started."""

    async def run(self, calls: Sequence[Call], *, timeout: float) -> list[Answer]:
        """See `Runtime.run`."""
        answers = await super().run(calls, timeout=timeout)
        for call, answer in zip(calls, answers, strict=True):
            self.count.prompt += answer.prompt_tokens
            self.count.cached += answer.cached_tokens
            if not call.suffix.startswith(NOTHING):
                self.count.asked += answer.prompt_tokens
                self.count.asked_cached += answer.cached_tokens
        return answers

    async def close(self) -> None:
        """It is not this one's."""
