"""A runtime that does what a test tells it to."""

import asyncio
import time

from memsift_workers.decks.deck import Deck, Limits
from memsift_workers.decks.laid import Laid
from memsift_workers.decks.session import Decks, lay_one
from memsift_workers.rankers.local import LocalRanker
from memsift_workers.runtimes.base import Answer, Json, Labels, Likelihood, RuntimeTimeout


class FakeRuntime:
    """Answers by `rule(call)`; `fault` is raised instead, `hang` never answers."""

    name = "fake"
    model = "fake-model"

    def __init__(self, rule=None, fault=None, hang=False):
        self.rule = rule or self.by_words
        self.fault = fault
        self.hang = hang
        self.batches = []
        self.aborted = 0
        self.starts = 0

    async def start(self):
        self.starts += 1

    async def usable_labels(self, labels):
        return tuple(labels)

    async def close(self):
        return None

    async def run(self, calls, *, timeout):
        self.batches.append(list(calls))
        if self.hang:
            try:
                await asyncio.wait_for(asyncio.Event().wait(), timeout)
            except TimeoutError:
                self.aborted += 1
                raise RuntimeTimeout("the fake never answers") from None
        fault = self.fault(calls) if callable(self.fault) else self.fault
        if fault is not None:
            raise fault
        return [self.rule(call) for call in calls]

    @staticmethod
    def by_words(call):
        """More words in common with the suffix, more probable; good enough to tell memories apart."""
        words = set("".join(call.prefix).lower().replace(".", " ").split())
        shared = sum(word.strip("?.") in words for word in call.suffix.lower().split())
        tokens = {"prompt_tokens": 10, "cached_tokens": 4}
        match call.wish:
            case Likelihood():
                return Answer(logprobs=(-10.0 + shared,), **tokens)
            case Labels(labels):
                return Answer(logprobs=tuple(-float(at) for at in range(len(labels))), **tokens)
            case Json():
                return Answer(text='{"ranking": ["m2", "m1"], "reason": "because"}', **tokens)


LIMITS = Limits(memories=128, tokens=4096, carry=0.02)


def decks(store=None, *, runtime="r1", limits=LIMITS):
    """Without a store each turn has a deck of its own."""
    return Decks(limits, store, runtime=runtime, clock=time.monotonic)


def local_ranker(runtime, strategy, store=None):
    """The `local` ranker."""
    return LocalRanker(runtime, strategy, decks(store))


def laid_alone(strategy, job):
    """The deck of a session's first turn."""
    limits = Limits(strategy.deck_size, 10**6, 0.02)
    return lay_one(job, Deck(), limits, "r1")[0] if strategy.deck_size else Laid()
