"""Reads texts that nobody has asked about before a few at a time: others get their turn in between.

Fifty new memories of 450 characters take 6 ms of CPU, longer than anything may keep a chat frontend's event
loop.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memsift_producer.prefilter.duplicates import words
from memsift_producer.prefilter.kinds import guess_kind
from memsift_producer.prefilter.tokens import keywords
from memsift_schemas.memory import MAX_MEMORY_CHARS, Memory
from memsift_schemas.text import is_clean

# New ones take 50 to 120 us each.
AT_ONCE = 4


class Reader:
    """Calls with new texts take turns.

    One that shared its time with others would find half of what it has read gone from the processor's caches
    when its prefilter looks it up.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def read(self, memories: Sequence[Memory | Mapping[str, Any]]) -> bool:
        """Put into the prefilter's caches what it will look up there. Takes microseconds for what is there.

        Args:
            memories: as a frontend gives them, not yet validated.

        Returns:
            Whether any was not there.
        """
        texts = _texts(memories)
        if not _read_some(texts):
            return False
        async with self._turn:
            while True:
                await asyncio.sleep(0)
                if not _read_some(texts):
                    return True


def _read_some(texts: Iterator[str]) -> bool:
    """Go on until a few of them were new; False when there are no more."""
    missed = keywords.cache_info().misses
    while some := list(itertools.islice(texts, AT_ONCE)):
        for text in some:
            keywords(text)
        if keywords.cache_info().misses != missed:
            for text in some:
                words(text)
                guess_kind(text)
            return True
    return False


def _texts(memories: Sequence[Memory | Mapping[str, Any]]) -> Iterator[str]:
    for memory in memories:
        if isinstance(memory, Memory):
            yield memory.text
            continue
        text = memory.get("text") if isinstance(memory, Mapping) else None
        # A longer one is cut first, so that this one is never looked up; nor is one that is no clean text.
        if isinstance(text, str) and len(text) <= MAX_MEMORY_CHARS and is_clean(text):
            yield text
