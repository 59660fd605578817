"""A prefix cache as its hit ratio needs it: how many tokens of each session's beginning are left."""

from __future__ import annotations

from collections import OrderedDict


class PrefixLru:
    """Evicts as RadixAttention does: the least recently used first, leaves before what they stand on.

    So of the session used longest ago the end goes first, and what is left is still a prefix (Zheng et al.
    2024, "SGLang", https://arxiv.org/abs/2312.07104, section 3).

    Attributes:
        room: tokens that fit in.
        tokens: tokens that are in.
    """

    __slots__ = ("_kept", "room", "tokens")

    def __init__(self, room: int) -> None:
        self.room = room
        self.tokens = 0
        self._kept: OrderedDict[int, int] = OrderedDict()

    def use(self, key: int, shared: int, kept: int) -> int:
        """Serve one call.

        Args:
            key: whose prefix it is.
            shared: tokens of it that the call begins with, if they are there.
            kept: tokens of it that are there afterwards, as far as there is room for them.

        Returns:
            How many of the shared ones were there.
        """
        held = self._kept
        had = held.pop(key, 0)
        held[key] = kept
        self.tokens += kept - had
        while self.tokens > self.room:
            oldest = next(iter(held))
            left = held[oldest] - (self.tokens - self.room)
            if left > 0:
                held[oldest] = left
                self.tokens = self.room
            else:
                self.tokens -= held.pop(oldest)
        return min(had, shared)

    def held(self) -> dict[int, int]:
        """Tokens by key, least recently used first."""
        return dict(self._kept)
