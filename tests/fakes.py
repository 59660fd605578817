"""A runtime that does what a test tells it to."""

import asyncio

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

    async def check_labels(self, labels):
        return None

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
        words = set(call.prefix.lower().replace(".", " ").split())
        shared = sum(word.strip("?.") in words for word in call.suffix.lower().split())
        tokens = {"prompt_tokens": 10, "cached_tokens": 4}
        match call.wish:
            case Likelihood():
                return Answer(logprobs=(-10.0 + shared,), **tokens)
            case Labels(labels):
                return Answer(logprobs=tuple(-float(at) for at in range(len(labels))), **tokens)
            case Json():
                return Answer(text='{"ranking": ["m2", "m1"], "reason": "because"}', **tokens)
