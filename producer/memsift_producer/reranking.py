"""What `rerank()` returns: a ranking together with the memories that it ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from memsift_producer.fallback import Fallback
from memsift_schemas.memory import Memory
from memsift_schemas.result import Cause, RerankResult, Source, select


@dataclass(frozen=True, slots=True)
class Reranking:
    """A ranking and what belongs into the prompt.

    Attributes:
        result: the ranking, its source and timings; holds no memory text.
        top_k: how many memories the prompt holds.
        min_relevance: what is known to be less probably relevant is left out of it.
    """

    result: RerankResult
    _fallback: Fallback = field(repr=False)
    top_k: int
    _by_id: Mapping[str, Memory] = field(repr=False)
    min_relevance: float = 0.0

    @property
    def fallback(self) -> RerankResult:
        """The prefilter's ranking that stood ready."""
        return self._fallback()

    @property
    def source(self) -> Source:
        """Whether the model or the prefilter made this ranking."""
        return self.result.source

    @property
    def cause(self) -> Cause | None:
        """Why the prefilter had to answer; None when the model did."""
        return self.result.cause

    @property
    def abstained(self) -> bool:
        """Whether there were memories, and every one is known to be too improbable for the prompt."""
        return bool(self.result.ranking) and not self._selected()

    def memories(self) -> list[Memory]:
        """The best `top_k` memories that are not known to be below `min_relevance`, best first."""
        return [self._by_id[one] for one in self._selected()]

    def texts(self) -> list[str]:
        """The texts of these memories, best first, as they go into the prompt."""
        return [memory.text for memory in self.memories()]

    def _selected(self) -> tuple[str, ...]:
        return select(self.result.ranking, top_k=self.top_k, min_relevance=self.min_relevance)
