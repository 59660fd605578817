"""How much of the prompts came from the cache, and why no more, summed over a worker's life."""

from __future__ import annotations

from collections import Counter
from typing import Any

from memsift_schemas.result import RerankResult


def cause_of(result: RerankResult) -> str:
    """Why no more of a job's prompts was cached: a `Miss`, `hit` or `no_deck`; see `CacheTally.as_dict`."""
    if result.deck is None:
        return "no_deck"
    return "hit" if result.deck.miss is None else result.deck.miss.value


class CacheTally:
    """Sums what results tell."""

    def __init__(self) -> None:
        self._prompt = Counter[str]()
        self._cached = Counter[str]()
        self._turns = Counter[str]()
        self._deck_tokens = 0
        self._stale_tokens = 0

    def note(self, result: RerankResult) -> None:
        """Count one job's prompts under the cause of what was not cached."""
        deck, cause = result.deck, cause_of(result)
        self._turns[cause] += 1
        self._prompt[cause] += result.prompt_tokens
        self._cached[cause] += result.cached_tokens
        if deck is not None:
            self._deck_tokens += deck.tokens
            self._stale_tokens += deck.stale_tokens

    def as_dict(self) -> dict[str, Any]:
        """For the worker's card.

        Returns:
            `prompt_tokens`, `cached_tokens`, `deck_tokens` and `stale_tokens` of all jobs, and `by_cause`: of
            each `Miss`, of `hit` (nothing that the last prompt held was missing) and of `no_deck` the turns,
            prompt and cached tokens.
        """
        return {
            "prompt_tokens": self._prompt.total(),
            "cached_tokens": self._cached.total(),
            "deck_tokens": self._deck_tokens,
            "stale_tokens": self._stale_tokens,
            "by_cause": {
                cause: {
                    "turns": turns,
                    "prompt_tokens": self._prompt[cause],
                    "cached_tokens": self._cached[cause],
                }
                for cause, turns in sorted(self._turns.items())
            },
        }
