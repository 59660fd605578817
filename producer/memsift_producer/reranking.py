"""What `rerank()` returns: a ranking together with the memories that it ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from memsift_schemas.memory import Memory
from memsift_schemas.result import Cause, RerankResult, Source


@dataclass(frozen=True, slots=True)
class Reranking:
    """A ranking and what belongs into the prompt.

    Attributes:
        result: the ranking, its source and timings; holds no memory text.
        fallback: the prefilter's ranking that stood ready.
        top_k: how many memories the prompt holds.
    """

    result: RerankResult
    fallback: RerankResult
    top_k: int
    _by_id: Mapping[str, Memory] = field(repr=False)

    @property
    def source(self) -> Source:
        """Whether the model or the prefilter made this ranking."""
        return self.result.source

    @property
    def cause(self) -> Cause | None:
        """Why the prefilter had to answer; None when the model did."""
        return self.result.cause

    def memories(self) -> list[Memory]:
        """The best `top_k` memories, best first."""
        return [self._by_id[ranked.id] for ranked in self.result.ranking[: self.top_k]]

    def texts(self) -> list[str]:
        """The texts of the best `top_k` memories, best first, as they go into the prompt."""
        return [memory.text for memory in self.memories()]
