"""What one question to one ranker brought: ids, places and timings, never a text."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from memsift_producer import Reranking
from memsift_schemas.result import RerankResult, Source

PREFILTER = "prefilter"
# What names an outcome: set, ranker, query.
Key = tuple[str, str, str]


class Outcome(BaseModel):
    """One answered question.

    Attributes:
        set: the set's name.
        ranker: who was asked.
        query: the query's id.
        cause: why the prefilter answered in the ranker's place; None when the ranker did.
        ranking: ids of all candidates, best first, what the prefilter had pruned at their end; empty when
            the prefilter answered in the ranker's place.
        total_ms: milliseconds from call to answer.
        rank_ms: the ranker's part of it.
        cpu_ms: CPU milliseconds of the answering process since the outcome before; None where it cannot be
            read.
        cost_usd: what it cost at a paid service.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    set: str
    ranker: str
    query: str
    cause: str | None = None
    ranking: tuple[str, ...] = ()
    total_ms: FiniteFloat = Field(ge=0)
    rank_ms: FiniteFloat | None = None
    cpu_ms: FiniteFloat | None = None
    cost_usd: FiniteFloat = Field(default=0.0, ge=0)

    @property
    def key(self) -> Key:
        """Set, ranker and query."""
        return self.set, self.ranker, self.query


def of_prefilter(reranking: Reranking, key: Key, *, cpu_ms: float | None) -> Outcome:
    """What the prefilter's ranking was, and how long it took."""
    fallback = reranking.fallback
    return Outcome(
        **_names(key),
        ranking=_whole(fallback),
        total_ms=reranking.result.timings_ms["total"],
        rank_ms=fallback.timings_ms.get("prefilter"),
        cpu_ms=cpu_ms,
    )


def of_ranker(reranking: Reranking, key: Key, *, cpu_ms: float | None) -> Outcome:
    """What the ranker answered, or why it did not."""
    result = reranking.result
    answered = result.source is Source.MODEL
    return Outcome(
        **_names(key),
        cause=None if answered else str(result.cause),
        ranking=_whole(result) if answered else (),
        total_ms=result.timings_ms["total"],
        rank_ms=result.timings_ms.get("rank"),
        cpu_ms=cpu_ms,
        cost_usd=result.cost_usd,
    )


def _names(key: Key) -> dict[str, str]:
    return dict(zip(("set", "ranker", "query"), key, strict=True))


def _whole(result: RerankResult) -> tuple[str, ...]:
    return (*(place.id for place in result.ranking), *result.pruned)
