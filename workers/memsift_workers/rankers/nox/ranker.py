"""`nox`: a chat model judges the whole list at once and says why. The dearest ranker, and the slowest.

One prompt per job: the memories first, since they change less from turn to turn than the question, so that
an endpoint with a prompt cache can reuse them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from memsift_schemas.job import RerankJob
from memsift_schemas.settings import WorkerSettings
from memsift_workers.egress import check_url
from memsift_workers.rankers.base import Outcome, RankFault, Scores
from memsift_workers.rankers.each import rank_each
from memsift_workers.rankers.nox.endpoint import ChatEndpoint
from memsift_workers.rankers.prices import Prices
from memsift_workers.rankers.probe import PROBE, PROBE_SECONDS
from memsift_workers.runtimes.base import RuntimeGarbage, RuntimeMisconfigured, RuntimeUnavailable
from memsift_workers.strategies import card
from memsift_workers.strategies.layout import question
from memsift_workers.strategies.version import SAMPLES, version

REQUESTS_AT_ONCE = 32
"""More are queued here, where their time is counted, and not in the endpoint."""


class NoxRanker:
    """One request per job.

    Args:
        endpoint: where the model is.
        model: its name there.
        prices: what its tokens cost.
        thinking_tokens: what a model that thinks before it answers may generate besides the answer.
        allow_egress: whether memories may leave the private network.

    Attributes:
        prompt_version: of what the model is told.
    """

    name = "nox"

    def __init__(
        self,
        endpoint: ChatEndpoint,
        *,
        model: str,
        prices: Prices,
        thinking_tokens: int = 0,
        allow_egress: bool = False,
    ) -> None:
        self._endpoint = endpoint
        self._model = model
        self._prices = prices
        self._thinking_tokens = thinking_tokens
        self._allow_egress = allow_egress
        self.prompt_version = version(self.name, (repr(_messages(job)) for job in SAMPLES))
        self._slots = asyncio.Semaphore(REQUESTS_AT_ONCE)
        self._started = False

    @property
    def model(self) -> str:
        """The model's name at the endpoint."""
        return self._model

    async def start(self) -> None:
        """Check that the endpoint may be used, and rank two invented memories with it.

        Raises:
            EgressRefused: it is public, and nobody has allowed that.
            RuntimeMisconfigured: it refuses the key or the model, or the model writes no ranking.
            RuntimeUnavailable: it does not answer now.
        """
        if self._started:
            return
        await check_url(self._endpoint.url, allowed=self._allow_egress)
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                await self._rank_one(PROBE, asyncio.get_running_loop().time() + PROBE_SECONDS)
        except TimeoutError:
            raise RuntimeUnavailable(f"no answer from MEMSIFT_NOX_URL in {PROBE_SECONDS:g} s") from None
        except (RankFault, RuntimeGarbage):
            raise RuntimeMisconfigured(
                f"the model {self._model} at MEMSIFT_NOX_URL writes no ranking"
            ) from None
        self._started = True

    async def rank(self, jobs: Sequence[RerankJob], *, timeout: float) -> list[Outcome]:
        """See `Ranker.rank`."""
        return await rank_each(jobs, self._rank_one, timeout=timeout)

    async def close(self) -> None:
        """Close all connections."""
        await self._endpoint.close()

    async def _rank_one(self, job: RerankJob, ends_at: float) -> Scores:
        async with self._slots:
            completion = await self._endpoint.ask(
                _messages(job),
                schema=card.schema(job, card.names(job), strict_mode=True),
                max_tokens=card.max_tokens(job, card.names(job)) + self._thinking_tokens,
                ends_at=ends_at,
            )
        values, reason = card.read(job, card.names(job), completion.text)
        prompt_tokens, cached_tokens, output_tokens = completion.tokens
        return Scores(
            values=values,
            reason=reason,
            prompt_tokens=prompt_tokens,
            cached_tokens=cached_tokens,
            output_tokens=output_tokens,
            cost_usd=self._prices.cost(
                prompt_tokens=prompt_tokens, output_tokens=output_tokens, cached_tokens=cached_tokens
            ),
        )


def _messages(job: RerankJob) -> list[dict[str, str]]:
    return [
        {"role": "system", "content": card.SYSTEM},
        {"role": "user", "content": f"{card.listing(job)}\n{question(job)}Ranking as JSON:"},
    ]


def build_nox(settings: WorkerSettings) -> NoxRanker:
    """The ranker that the settings describe, not yet started.

    Raises:
        RuntimeMisconfigured: no model is named.
    """
    if not settings.nox_model:
        raise RuntimeMisconfigured("the ranker nox needs MEMSIFT_NOX_MODEL, the model's name at the endpoint")
    return NoxRanker(
        ChatEndpoint(
            settings.nox_url,
            api_key=settings.nox_api_key,
            model=settings.nox_model,
            allow_egress=settings.allow_egress,
        ),
        model=settings.nox_model,
        prices=Prices(
            prompt=settings.nox_usd_per_million_in,
            output=settings.nox_usd_per_million_out,
            cached=settings.nox_usd_per_million_cached,
        ),
        thinking_tokens=settings.nox_thinking_tokens,
        allow_egress=settings.allow_egress,
    )
