"""Which KV block holds which tokens: a prefix cache over a pool of fixed-size blocks.

A block is found by a digest of everything up to its end, so that two prompts share exactly the blocks of
their common beginning (the scheme of vLLM's and OpenVINO GenAI's block managers). Unlike there, the last,
partly filled block of a context is kept as well; a user of it works on a copy. Nothing here holds text or
tokens, only digests.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np

Key = bytes
Chain = tuple[Key, ...]


class CacheTooSmall(Exception):
    """More blocks are needed at once than there are."""


class PrefixCache:
    """A pool of blocks: some kept under a key for later prompts, the rest free or lent to the caller.

    Not safe for use by several threads.

    Args:
        blocks: number of blocks in the pool, with ids from 0.
        block_size: tokens per block.
    """

    def __init__(self, blocks: int, block_size: int) -> None:
        self.blocks = blocks
        self.block_size = block_size
        self._free = deque(range(blocks))
        # Least recently used first.
        self._kept: OrderedDict[Key, int] = OrderedDict()

    def keys(self, namespace: str, tokens: Sequence[int]) -> Chain:
        """One key per block that `tokens` fill or start to fill. Namespaces have no key in common."""
        key = blake2b(namespace.encode(), digest_size=16).digest()
        found = []
        raw = np.asarray(tokens, dtype=np.int64)
        for start in range(0, len(tokens), self.block_size):
            key = blake2b(key + raw[start : start + self.block_size].tobytes(), digest_size=16).digest()
            found.append(key)
        return tuple(found)

    def held(self, keys: Chain) -> list[int]:
        """Blocks of the longest kept beginning of a context, now the most recently used ones."""
        blocks = []
        for key in keys:
            block = self._kept.get(key)
            if block is None:
                break
            blocks.append(block)
        # The beginning is touched last, so that no block is evicted before those that build on it.
        for key in reversed(keys[: len(blocks)]):
            self._kept.move_to_end(key)
        return blocks

    def take(self, count: int) -> list[int]:
        """Lend blocks: free ones, then the least recently used of the kept ones.

        Raises:
            CacheTooSmall: not enough blocks are free or kept; none is lent.
        """
        if count > len(self._free) + len(self._kept):
            raise CacheTooSmall(f"{count} blocks are needed, {len(self._free) + len(self._kept)} can be had")
        while len(self._free) < count:
            _, block = self._kept.popitem(last=False)
            self._free.append(block)
        return [self._free.popleft() for _ in range(count)]

    def keep(self, chain: Chain, blocks: Sequence[int]) -> None:
        """Keep lent blocks, now filled, as the end of a context whose beginning is kept already."""
        for key, block in zip(chain[len(chain) - len(blocks) :], blocks, strict=True):
            if key in self._kept:
                raise ValueError("a block is kept under this key")
            self._kept[key] = block
        self.held(chain)

    def give_back(self, blocks: Iterable[int]) -> None:
        """Give lent blocks back without keeping what is in them."""
        self._free.extend(blocks)
