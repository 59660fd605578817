"""The ranking that stands ready for when no worker answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from memsift_schemas.result import Cause, RerankResult


class Fallback:
    """Made when it is first asked for: most calls are answered by a worker and never look at it.

    Args:
        make: makes the ranking.
    """

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], RerankResult]) -> None:
        self._make = make
        self._made: RerankResult | None = None

    def __call__(self) -> RerankResult:
        """The ranking; the same each time."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def because(self, cause: Cause) -> RerankResult:
        """The ranking, with the reason why it has to do."""
        return self().model_copy(update={"cause": cause})

    async def at_once(self, cause: Cause) -> RerankResult:
        """For a call that was not sent: others get their turn, whatever loop calls so in a row."""
        await asyncio.sleep(0)
        return self.because(cause)
