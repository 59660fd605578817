"""The ranker: one request per job, all jobs of a micro-batch at once, every fault a cause."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from memsift_schemas.job import RerankJob
from memsift_schemas.settings import WorkerSettings
from memsift_workers.egress import check_url
from memsift_workers.rankers.base import Outcome, Scores
from memsift_workers.rankers.clef.dialects import Pairs
from memsift_workers.rankers.clef.http import RerankHttp
from memsift_workers.rankers.clef.pairs import document_texts, query_text, split
from memsift_workers.rankers.clef.probe import Endpoint, check_length, find_endpoint
from memsift_workers.rankers.each import rank_each
from memsift_workers.rankers.prices import Prices
from memsift_workers.runtimes.base import RuntimeMisconfigured, RuntimeUnavailable

START_SECONDS = 30.0
"""For the probe with all its questions; the first request to a cold model may take seconds."""
REPLY_SHARE, REPLY_SECONDS = 0.1, 0.02
"""Kept back of the time, at most so many seconds: replies of a batch leave together, and a job that was
answered must not be late because another was not."""


class ClefRanker:
    """A cross-encoder reads query and memory together and gives each pair a score.

    Args:
        settings: the `clef_...` settings and `allow_egress`.

    Raises:
        RuntimeMisconfigured: `clef_url` is no URL.
    """

    name = "clef"

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._http = RerankHttp(
            settings.clef_url,
            api_key=settings.clef_api_key,
            connections=settings.clef_concurrency,
            allow_egress=settings.allow_egress,
        )
        self._prices = Prices(prompt=settings.clef_usd_per_million_tokens)
        self._endpoint: Endpoint | None = None

    @property
    def model(self) -> str:
        """The model's name as set or as the server tells it; the dialect's when it does not."""
        return self._endpoint.model if self._endpoint else ""

    async def start(self) -> None:
        """Find the server's dialect by questions with known answers, which also warms the model.

        Raises:
            EgressRefused: the server has a public address.
            RuntimeMisconfigured: it ranks wrongly, or not at all.
            RuntimeUnavailable: it is away.
        """
        if self._endpoint is not None:
            return
        await check_url(self._settings.clef_url, allowed=self._settings.allow_egress)
        try:
            async with asyncio.timeout(START_SECONDS):
                self._endpoint = await self._found()
        except TimeoutError:
            raise RuntimeUnavailable(
                f"{self._http.shown} had not answered the probe within {START_SECONDS:g} s"
            ) from None

    async def rank(self, jobs: Sequence[RerankJob], *, timeout: float) -> list[Outcome]:
        """See `Ranker.rank`."""
        kept_back = min(timeout * REPLY_SHARE, REPLY_SECONDS)
        return await rank_each(jobs, self._scores, timeout=timeout - kept_back)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.close()

    async def _found(self) -> Endpoint:
        model, most = self._settings.clef_model, self._settings.clef_max_chars
        endpoint = await find_endpoint(self._http, model=model)
        await check_length(self._http, endpoint, model=model, most=most)
        return endpoint

    async def _scores(self, job: RerankJob, ends_at: float) -> Scores:
        if self._endpoint is None:
            raise RuntimeMisconfigured("the clef ranker was not started")
        most = self._settings.clef_max_chars
        query = query_text(job, turns=self._settings.clef_turns, most=most // 2)
        texts = document_texts(job, most=most - len(query))
        parts = split(texts, self._settings.clef_max_documents)
        try:
            async with asyncio.TaskGroup() as group:
                asked = [group.create_task(self._ask(self._endpoint, query, p, ends_at)) for p in parts]
        except ExceptionGroup as faults:
            raise faults.exceptions[0] from None
        answers = [task.result() for task in asked]
        tokens = sum(answer.tokens for answer in answers)
        return Scores(
            values=tuple(score for answer in answers for score in answer.scores),
            prompt_tokens=tokens,
            cost_usd=self._prices.cost(prompt_tokens=tokens, output_tokens=0),
        )

    async def _ask(self, endpoint: Endpoint, query: str, texts: list[str], ends_at: float) -> Pairs:
        body = endpoint.dialect.body(query, texts, self._settings.clef_model)
        reply = await self._http.post_until(endpoint.path, body, ends_at)
        return endpoint.dialect.read(reply, len(texts))
