"""What one question to one ranker brought: ids, places and timings.

No text of a user, but for a ranker's own words, which may quote one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from memsift_producer import Reranking
from memsift_schemas.result import RerankResult, Source

PREFILTER = "prefilter"
# A cost is told for this many calls.
CALLS = 1_000_000
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
        pruned: how many ids at the end of `ranking` the prefilter had pruned.
        scores: of those before them, in the same order; empty when the prefilter answered in the ranker's
            place.
        evidence: of the same ones: how much speaks for each, comparable across questions; empty where the
            ranker gives none.
        relevance: of the same ones: calibrated probabilities; empty without a calibration.
        model: the model that answered, "" where there is none.
        reason: the ranker's own words, where it has some; a text.
        total_ms: milliseconds from call to answer.
        rank_ms: the ranker's part of it.
        cpu_ms: CPU milliseconds of the answering process since the outcome before; None where it cannot be
            read.
        cost_usd: what it cost at a paid service, as the ranker tells.
        prompt_tokens: tokens that were read, the cached ones among them; 0 where nobody counts them.
        cached_tokens: those that came from a prefix cache.
        output_tokens: tokens that were generated.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    set: str
    ranker: str
    query: str
    cause: str | None = None
    ranking: tuple[str, ...] = ()
    pruned: int = Field(default=0, ge=0)
    scores: tuple[FiniteFloat, ...] = ()
    evidence: tuple[FiniteFloat, ...] = ()
    relevance: tuple[FiniteFloat, ...] = ()
    model: str = ""
    reason: str | None = Field(default=None, repr=False)
    total_ms: FiniteFloat = Field(ge=0)
    rank_ms: FiniteFloat | None = None
    cpu_ms: FiniteFloat | None = None
    cost_usd: FiniteFloat = Field(default=0.0, ge=0)
    prompt_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)

    @property
    def best_evidence(self) -> float | None:
        """What speaks for the first memory: its score where there is no evidence; None for no answer."""
        return next(iter(self.evidence or self.scores), None)

    @property
    def key(self) -> Key:
        """Set, ranker and query."""
        return self.set, self.ranker, self.query


def of_prefilter(reranking: Reranking, key: Key, *, cpu_ms: float | None) -> Outcome:
    """What the prefilter's ranking was, and how long it took."""
    fallback = reranking.fallback
    return Outcome(
        **_names(key),
        **_ranked(fallback),
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
        **(_ranked(result) if answered else {}),
        total_ms=result.timings_ms["total"],
        rank_ms=result.timings_ms.get("rank"),
        cpu_ms=cpu_ms,
        cost_usd=result.cost_usd,
        prompt_tokens=result.prompt_tokens,
        cached_tokens=result.cached_tokens,
        output_tokens=result.output_tokens,
    )


def _names(key: Key) -> dict[str, str]:
    return dict(zip(("set", "ranker", "query"), key, strict=True))


def _ranked(result: RerankResult) -> dict[str, Any]:
    """All that is left out where somebody else answered."""
    places = result.ranking
    return {
        "ranking": (*(place.id for place in places), *result.pruned),
        "pruned": len(result.pruned),
        "scores": tuple(place.score for place in places),
        "evidence": _known([place.evidence for place in places]),
        "relevance": _known([place.relevance for place in places]),
        "model": result.model,
        "reason": result.reason,
    }


def _known(values: Sequence[float | None]) -> tuple[float, ...]:
    """The values, or none of them when any is missing."""
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) else ()
