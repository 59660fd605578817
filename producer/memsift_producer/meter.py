"""What a frontend tells of its calls to whoever counts them; `metrics` counts with Prometheus."""

from __future__ import annotations

from memsift_schemas.hits import Hit
from memsift_schemas.metrics.shared import Shared
from memsift_schemas.result import RerankResult


class Meter:
    """Counts nothing."""

    def began(self) -> None:
        """A call has come; `answered` or `failed` follows."""

    def answered(self, result: RerankResult, seconds: float) -> None:
        """It has its ranking, so long after it came."""

    def failed(self, error: BaseException) -> None:
        """Nobody was answered: the caller went away, or asked what cannot be."""

    def rated(self, ranker: str, prompt_version: str, hit: Hit) -> None:
        """Feedback on a call was counted: whose it was, and whether its right memories were in the prompt."""

    def looked(self, queue: str, shared: Shared) -> None:
        """Redis told what all frontends share."""

    def lost(self, queue: str) -> None:
        """Redis does not answer: every call falls back."""

    def opened(self, reason: str) -> None:
        """This process opened the breaker."""

    def requested(self, dialect: str, status: int) -> None:
        """An HTTP call of the gateway has ended."""
