"""A chain of rankers, `jev>local`: each prunes for the next, so that the dear one reads little."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from memsift_schemas.job import RerankJob
from memsift_schemas.order import best_first
from memsift_workers.rankers.base import Outcome, Parts, Ranker, RankFault, Scores, Warmable, prompt_version
from memsift_workers.rankers.isolation import time_left
from memsift_workers.runtimes.base import Reachable
from memsift_workers.strategies.shortlist import spread


class Cascade:
    """Two rankers; the second sees the best `keep` of the first. Longer chains are cascades of cascades.

    Memories that the second did not see follow in the first's order. A job that one of them cannot rank
    cannot be ranked: its caller's prefilter is the better answer than half a chain.
    """

    def __init__(self, first: Ranker, second: Ranker, *, keep: int) -> None:
        self._first = first
        self._second = second
        self._keep = keep

    @property
    def name(self) -> str:
        """Both names, as a job would write them."""
        return f"{self._first.name}>{self._second.name}"

    @property
    def model(self) -> str:
        """The model of the last ranker."""
        return self._second.model

    @property
    def prompt_version(self) -> str:
        """Of those of the two that ask prompts."""
        return ">".join(filter(None, map(prompt_version, (self._first, self._second))))

    async def start(self) -> None:
        """Start both."""
        await self._first.start()
        await self._second.start()

    async def rank(self, jobs: Sequence[RerankJob], *, timeout: float) -> list[Outcome]:
        """See `Ranker.rank`."""
        ends_at = asyncio.get_running_loop().time() + timeout
        outcomes = await self._first.rank(jobs, timeout=timeout)
        pruned = {
            at: self._prune(job, outcome)
            for at, (job, outcome) in enumerate(zip(jobs, outcomes, strict=True))
            if isinstance(outcome, Scores)
        }
        left = time_left(ends_at)
        seconds = await self._second.rank(list(pruned.values()), timeout=left) if pruned else []
        for at, second in zip(pruned, seconds, strict=True):
            outcomes[at] = _join(jobs[at], outcomes[at], pruned[at], second)
        return outcomes

    async def warm(self, jobs: Sequence[RerankJob], *, timeout: float) -> None:
        """See `Warmable`; each of the two that can."""
        async with asyncio.timeout(timeout):
            for ranker in (self._first, self._second):
                if isinstance(ranker, Warmable):
                    await ranker.warm(jobs, timeout=timeout)

    async def reach(self) -> None:
        """See `Reachable`; each of the two that can tell."""
        for ranker in (self._first, self._second):
            if isinstance(ranker, Reachable):
                await ranker.reach()

    async def close(self) -> None:
        """Close both."""
        await self._first.close()
        await self._second.close()

    def _prune(self, job: RerankJob, scores: Scores) -> RerankJob:
        best = best_first(scores.values)[: self._keep]
        kept = sorted(best)
        update = {
            "candidates": tuple(job.candidates[at] for at in kept),
            "prior": tuple(scores.values[at] for at in kept),
        }
        return job.model_copy(update=update)


def _join(job: RerankJob, first: Outcome, pruned: RerankJob, second: Outcome) -> Outcome:
    if isinstance(first, RankFault) or isinstance(second, RankFault):
        return second if isinstance(second, RankFault) else first
    place = {memory.id: at for at, memory in enumerate(job.candidates)}
    read = [place[memory.id] for memory in pruned.candidates]
    ordered_by_first = job.model_copy(update={"prior": first.values})
    evidence = second.values if second.evidence is None else second.evidence
    return Scores(
        values=spread(ordered_by_first, dict(zip(read, second.values, strict=True))),
        # What the second did not read, the first judged worse, in a unit of its own: less than the least.
        evidence=spread(ordered_by_first, dict(zip(read, evidence, strict=True))),
        reason=second.reason,
        prompt_tokens=first.prompt_tokens + second.prompt_tokens,
        cached_tokens=first.cached_tokens + second.cached_tokens,
        output_tokens=first.output_tokens + second.output_tokens,
        cost_usd=first.cost_usd + second.cost_usd,
        deck=second.deck,
        parts=second.parts and _placed(second.parts, read),
    )


def _placed(parts: Parts, read: Sequence[int]) -> Parts:
    """The same by the places of the whole job."""
    prior, model = ({read[at]: value for at, value in part.items()} for part in (parts.prior, parts.model))
    return Parts(parts.weight, prior, model)
