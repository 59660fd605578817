"""The `local` ranker: a strategy asks, a runtime on our own machine answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from memsift_schemas.job import RerankJob
from memsift_schemas.result import Cause
from memsift_workers.decks.laid import Laid
from memsift_workers.decks.session import Decks
from memsift_workers.faults import describe
from memsift_workers.rankers.base import Outcome, RankFault
from memsift_workers.rankers.causes import rank_fault
from memsift_workers.rankers.isolation import one_by_one, time_left
from memsift_workers.runtimes.base import (
    Answer,
    Call,
    Likelihood,
    Reachable,
    Runtime,
    RuntimeCrashed,
    RuntimeFault,
    RuntimeGarbage,
    RuntimeTimeout,
)
from memsift_workers.strategies.base import Strategy
from memsift_workers.strategies.version import strategy_version

log = logging.getLogger("memsift.worker")


class LocalRanker:
    """All prompts of a micro-batch in one request to the runtime.

    When the whole request fails, each job is asked for once more alone, so that the one that broke it
    harms no other; after a crash one after the other, so that it is known which one it was.

    Attributes:
        prompt_version: of the strategy's prompts.
    """

    name = "local"

    def __init__(self, runtime: Runtime, strategy: Strategy, decks: Decks) -> None:
        self._runtime = runtime
        self._strategy = strategy
        self._decks = decks
        self.prompt_version = strategy_version(strategy)
        self._started = False
        self._probes = 0

    @property
    def model(self) -> str:
        """The model that the runtime serves."""
        return self._runtime.model

    async def start(self) -> None:
        """Load and warm the model and learn which of the strategy's labels it knows."""
        if self._started:
            return  # it may serve by itself and in a chain
        await self._runtime.start()
        if self._strategy.labels:
            self._strategy.use_labels(await self._runtime.usable_labels(self._strategy.labels))
        self._started = True

    async def rank(self, jobs: Sequence[RerankJob], *, timeout: float) -> list[Outcome]:
        """See `Ranker.rank`."""
        ends_at = asyncio.get_running_loop().time() + timeout
        decks = await self._lay(jobs)
        asked = [self._ask(job, laid) for job, laid in zip(jobs, decks, strict=True)]
        readable = [calls for calls in asked if not isinstance(calls, RankFault)]
        replies = iter(await self._answers(readable, ends_at))
        outcomes = [
            calls if isinstance(calls, RankFault) else self._score(job, laid, next(replies))
            for job, laid, calls in zip(jobs, decks, asked, strict=True)
        ]
        await self._decks.drop(
            [
                job
                for job, laid, one in zip(jobs, decks, outcomes, strict=True)
                if laid.entries and _spoiled(one)
            ]
        )
        return outcomes

    async def warm(self, jobs: Sequence[RerankJob], *, timeout: float) -> None:
        """Put into the runtime's cache what these sessions' questions will begin with.

        Args:
            jobs: whose candidates; their questions are not read.
            timeout: seconds.

        Raises:
            RuntimeFault: it could not be done; the next question costs what it would have cost without.
        """
        decks = await self._lay(jobs)
        calls = [self._strategy.warming(job, laid) for job, laid in zip(jobs, decks, strict=True)]
        await self._run(calls, timeout)

    async def reach(self) -> None:
        """See `Reachable`; a runtime that cannot tell counts as there."""
        if isinstance(self._runtime, Reachable):
            await self._runtime.reach()

    async def close(self) -> None:
        """Close the runtime."""
        await self._runtime.close()
        await self._decks.close()

    async def _lay(self, jobs: Sequence[RerankJob]) -> list[Laid]:
        if not self._strategy.deck_size:
            return [Laid()] * len(jobs)
        return await self._decks.lay(jobs, most=self._strategy.deck_size)

    def _ask(self, job: RerankJob, laid: Laid) -> list[Call] | RankFault:
        try:
            return self._strategy.calls(job, laid)
        except RankFault as fault:
            return fault
        except Exception as error:  # noqa: BLE001  # a bad job must not take its batch down
            log.error("job %s falls back, no prompt could be built: %s", job.id, describe(error))
            return RankFault(Cause.RANKER_ERROR)

    async def _answers(self, asked: list[list[Call]], ends_at: float) -> list[list[Answer] | RankFault]:
        if not asked:
            return []
        try:
            return list(await self._run(asked, time_left(ends_at)))
        except RuntimeFault as fault:
            crashed = isinstance(fault, RuntimeCrashed)
            if isinstance(fault, RuntimeTimeout) or (len(asked) == 1 and not crashed):
                return [rank_fault(fault)] * len(asked)
            log.warning(
                "a batch of %d jobs failed (%s): each is asked for alone", len(asked), describe(fault)
            )
        if crashed:
            return await one_by_one(asked, self._run_one, self._probe, ends_at=ends_at)
        left = time_left(ends_at)
        return list(await asyncio.gather(*(self._alone(calls, left) for calls in asked)))

    async def _run_one(self, calls: list[Call], timeout: float) -> list[Answer]:
        return (await self._run([calls], timeout))[0]

    async def _probe(self, timeout: float) -> None:
        """One token through the whole engine; never the same, so that no memory answers it."""
        self._probes += 1
        await self._runtime.run([Call(("Hello",), f" {self._probes}", Likelihood())], timeout=timeout)

    async def _alone(self, calls: list[Call], timeout: float) -> list[Answer] | RankFault:
        try:
            return await self._run_one(calls, timeout)
        except RuntimeFault as fault:
            return rank_fault(fault)

    async def _run(self, asked: list[list[Call]], timeout: float) -> list[list[Answer]]:
        answers = await self._runtime.run([call for calls in asked for call in calls], timeout=timeout)
        if len(answers) != sum(map(len, asked)):
            raise RuntimeGarbage(f"{len(answers)} answers for {sum(map(len, asked))} prompts")
        rest = iter(answers)
        return [[next(rest) for _ in calls] for calls in asked]

    def _score(self, job: RerankJob, laid: Laid, answers: list[Answer] | RankFault) -> Outcome:
        if isinstance(answers, RankFault):
            return answers
        try:
            scores = self._strategy.scores(job, laid, answers)
            if not laid.entries:
                return scores
            return replace(scores, deck=self._decks.learn(laid, answers[0]))
        except RankFault as fault:
            return fault
        except Exception as error:  # noqa: BLE001  # a bad answer must not take the batch down
            log.error("job %s falls back, its answers could not be read: %s", job.id, describe(error))
            return RankFault(Cause.RANKER_ERROR)


def _spoiled(outcome: Outcome) -> bool:
    """Whether the prompt itself may have been the fault: too long, or what the model makes nonsense of."""
    return isinstance(outcome, RankFault) and outcome.cause is not Cause.RUNTIME_TIMEOUT
