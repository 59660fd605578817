"""`decision`: a decision model says of each memory how probably it helps to answer the question."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from memsift_schemas.job import RerankJob
from memsift_schemas.settings import WorkerSettings
from memsift_workers.egress import check_url
from memsift_workers.rankers.base import Outcome, Scores
from memsift_workers.rankers.decision.dialects import DIALECTS, Decisions, Dialect, read
from memsift_workers.rankers.decision.endpoint import DecisionEndpoint
from memsift_workers.rankers.decision.questions import Question, questions, split, state, tokens_at_most
from memsift_workers.rankers.each import rank_each
from memsift_workers.rankers.prices import Prices
from memsift_workers.rankers.probe import PROBE, PROBE_SECONDS
from memsift_workers.runtimes.base import RuntimeGarbage, RuntimeMisconfigured, RuntimeUnavailable
from memsift_workers.strategies.version import SAMPLES, version


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server takes in one request.

    Attributes:
        questions: how many.
        tokens: of state and questions together.
        state_tokens: of the state alone; older turns are left out to keep to it.
    """

    questions: int = 64
    tokens: int = 16_000
    state_tokens: int = 8_000


class DecisionRanker:
    """One request per job, or as many as the server's limits make of it, all at once.

    Args:
        endpoint: the server.
        dialect: how it wants to be asked.
        model: its name there.
        limits: what the server takes.
        prices: what its tokens cost.
        allow_egress: whether memories may leave the private network.

    Attributes:
        prompt_version: of what the model is told.
    """

    name = "decision"

    def __init__(
        self,
        endpoint: DecisionEndpoint,
        dialect: Dialect,
        *,
        model: str,
        limits: Limits,
        prices: Prices,
        allow_egress: bool = False,
    ) -> None:
        self._endpoint = endpoint
        self._dialect = dialect
        self._asked_model = model
        self._limits = limits
        self._prices = prices
        self._allow_egress = allow_egress
        self._model = ""
        told = (state(job, most_tokens=limits.state_tokens) for job in SAMPLES)
        asked = (one.text for job in SAMPLES for one in questions(job))
        self.prompt_version = version(self.name, (*told, *asked))

    @property
    def model(self) -> str:
        """The model that answered at start, or the one that is asked for."""
        return self._model or self._asked_model

    async def start(self) -> None:
        """Check that the server may be used, and ask it about two invented memories.

        Raises:
            EgressRefused: it is public, and nobody has allowed that.
            RuntimeMisconfigured: it refuses the key or the model, or speaks something else.
            RuntimeUnavailable: it does not answer now.
        """
        if self._model:
            return
        await check_url(self._endpoint.url, allowed=self._allow_egress)
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                ends_at = asyncio.get_running_loop().time() + PROBE_SECONDS
                (decisions, *_) = await self._decide(PROBE, ends_at)
        except TimeoutError:
            raise RuntimeUnavailable(f"no answer from MEMSIFT_DECISION_URL in {PROBE_SECONDS:g} s") from None
        except RuntimeGarbage as fault:
            raise RuntimeMisconfigured(f"MEMSIFT_DECISION_URL is no such decision server: {fault}") from None
        self._model = decisions.model or self._asked_model

    async def rank(self, jobs: Sequence[RerankJob], *, timeout: float) -> list[Outcome]:
        """See `Ranker.rank`."""
        return await rank_each(jobs, self._rank_one, timeout=timeout)

    async def close(self) -> None:
        """Close all connections."""
        await self._endpoint.close()

    async def _rank_one(self, job: RerankJob, ends_at: float) -> Scores:
        parts = await self._decide(job, ends_at)
        prompt_tokens = sum(part.prompt_tokens for part in parts)
        output_tokens = sum(part.output_tokens for part in parts)
        return Scores(
            values=tuple(value for part in parts for value in part.values),
            prompt_tokens=prompt_tokens,
            output_tokens=output_tokens,
            cost_usd=self._prices.cost(prompt_tokens=prompt_tokens, output_tokens=output_tokens),
        )

    async def _decide(self, job: RerankJob, ends_at: float) -> list[Decisions]:
        told = state(job, most_tokens=self._limits.state_tokens)
        parts = split(
            questions(job),
            state_tokens=tokens_at_most(told),
            most_questions=self._limits.questions,
            most_tokens=self._limits.tokens,
        )
        try:
            async with asyncio.TaskGroup() as group:
                asking = [group.create_task(self._ask(told, part, ends_at)) for part in parts]
        except BaseExceptionGroup as faults:
            # The others have been cancelled: a job with half its scores cannot be ranked.
            raise faults.exceptions[0] from None
        return [asked.result() for asked in asking]

    async def _ask(self, told: str, asked: list[Question], ends_at: float) -> Decisions:
        body = self._dialect.body(self._asked_model, told, asked)
        return read(self._dialect, await self._endpoint.post(body, ends_at=ends_at), asked)


def build_decision(settings: WorkerSettings) -> DecisionRanker:
    """The ranker that the settings describe, not yet started."""
    dialect = DIALECTS[settings.decision_dialect]
    return DecisionRanker(
        DecisionEndpoint(
            settings.decision_url.rstrip("/") + dialect.path,
            api_key=settings.decision_api_key,
            allow_egress=settings.allow_egress,
        ),
        dialect,
        model=settings.decision_model,
        limits=Limits(
            questions=settings.decision_max_questions,
            tokens=settings.decision_max_tokens,
            state_tokens=settings.decision_max_state_tokens,
        ),
        prices=Prices(
            prompt=settings.decision_usd_per_million_in, output=settings.decision_usd_per_million_out
        ),
        allow_egress=settings.allow_egress,
    )
