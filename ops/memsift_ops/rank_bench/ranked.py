"""What one ranker made of one question, and the sort of things that can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memsift_ops.datasets import Case
from memsift_schemas.order import best_first


@dataclass(frozen=True, slots=True)
class Ranked:
    """One question.

    Attributes:
        ranking: ids, best first, of all candidates.
        ms: from the question to the ranking.
        cpu_ms: of the process that ranked, all threads; 0 where that is somewhere else.
    """

    ranking: Sequence[str]
    ms: float
    cpu_ms: float


class Subject(Protocol):
    """A ranker that is ready."""

    def rank(self, case: Case) -> Ranked:
        """Rank one question's candidates.

        Raises:
            Failure: it could not.
        """
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


def by_scores(case: Case, scores: Sequence[float]) -> list[str]:
    """Ids by score; ties keep the order of recall."""
    order = best_first(scores)
    return [case.memories[at].id for at in order]
