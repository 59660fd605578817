"""What a call to a paid service costs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens.

    Attributes:
        prompt: of tokens that are read.
        output: of tokens that are generated.
        cached: of prompt tokens that the service had in its cache; None when it gives no discount.
    """

    prompt: float = 0.0
    output: float = 0.0
    cached: float | None = None

    def cost(self, *, prompt_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """US dollars of one call; `prompt_tokens` includes the cached ones."""
        cached_price = self.prompt if self.cached is None else self.cached
        fresh = max(prompt_tokens - cached_tokens, 0)
        return (fresh * self.prompt + cached_tokens * cached_price + output_tokens * self.output) / 1e6
