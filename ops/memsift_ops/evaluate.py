"""Asks labelled questions through the queue and compares the model's rankings with the prefilter's."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from memsift_ops import metrics
from memsift_ops.datasets import Case
from memsift_producer import Reranker
from memsift_schemas.result import RerankResult, Source

AT_ONCE = 4
# Long enough for a CPU with four questions at once: what is measured is the model, not the deadline.
DEADLINE_S = 60.0

METRICS: dict[str, Callable[[Sequence[str], frozenset[str]], float]] = {
    "hit@3": lambda ranking, gold: metrics.hit_at(3, ranking, gold),
    "MRR": metrics.reciprocal_rank,
    "R@5": lambda ranking, gold: metrics.recall_at(5, ranking, gold),
    "P@1": lambda ranking, gold: metrics.precision_at(1, ranking, gold),
}


@dataclass(frozen=True, slots=True)
class Answered:
    """One answered question.

    Attributes:
        gold: what is relevant.
        model: the final ranking, with what the prefilter had pruned at its end.
        prefilter: the prefilter's ranking, ended likewise.
        by_model: False when the final ranking is the prefilter's after all.
        ms: milliseconds from call to answer.
    """

    gold: frozenset[str]
    model: list[str]
    prefilter: list[str]
    by_model: bool
    ms: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Prefilter and model on one set.

    Attributes:
        name: the set.
        queries: how many were asked.
        by_model: how many the model answered.
        prefilter: mean of each metric.
        model: the same for the final ranking.
        mrr_difference: model minus prefilter: mean, and both ends of its 95% interval.
        median_ms: from call to answer, with `AT_ONCE` questions under way.
    """

    name: str
    queries: int
    by_model: int
    prefilter: dict[str, float]
    model: dict[str, float]
    mrr_difference: tuple[float, float, float]
    median_ms: float

    def as_json(self) -> dict[str, Any]:
        """The same, JSON-ready."""
        return asdict(self)


async def ask_all(
    cases: Sequence[Case], reranker: Reranker, *, answered: Callable[[], None]
) -> list[Answered]:
    """Ask every question, at most `AT_ONCE` at a time, each in a session of its own.

    Args:
        cases: the questions.
        reranker: open.
        answered: called after each answer.
    """
    room = asyncio.Semaphore(AT_ONCE)

    async def ask(case: Case) -> Answered:
        async with room:
            reranking = await reranker.rerank(
                query=case.query,
                memories=case.memories,
                user=case.user,
                session=case.id,
                turns=case.turns,
                deadline=DEADLINE_S,
                now=case.now,
            )
        answered()
        result = reranking.result
        return Answered(
            gold=case.gold,
            model=_whole(result),
            prefilter=_whole(reranking.fallback),
            by_model=result.source is Source.MODEL,
            ms=result.timings_ms["total"],
        )

    return await asyncio.gather(*map(ask, cases))


def compare(name: str, answers: Sequence[Answered]) -> Comparison:
    """Average the metrics over all questions of a set.

    Args:
        name: the set.
        answers: at least one.
    """
    gained = [
        metrics.reciprocal_rank(answer.model, answer.gold)
        - metrics.reciprocal_rank(answer.prefilter, answer.gold)
        for answer in answers
    ]
    return Comparison(
        name=name,
        queries=len(answers),
        by_model=sum(answer.by_model for answer in answers),
        prefilter=_means([(answer.prefilter, answer.gold) for answer in answers]),
        model=_means([(answer.model, answer.gold) for answer in answers]),
        mrr_difference=(statistics.fmean(gained), *metrics.bootstrap_interval(gained)),
        median_ms=statistics.median(answer.ms for answer in answers),
    )


def _whole(result: RerankResult) -> list[str]:
    """All candidates: what was pruned follows what was ranked."""
    return [*(place.id for place in result.ranking), *result.pruned]


def _means(rankings: Sequence[tuple[list[str], frozenset[str]]]) -> dict[str, float]:
    return {
        name: statistics.fmean(metric(ranking, gold) for ranking, gold in rankings)
        for name, metric in METRICS.items()
    }
