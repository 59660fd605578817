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


async def read(memories: Sequence[Memory | Mapping[str, Any]]) -> bool:
    """Put into the prefilter's caches what it will look up there. Takes microseconds for what is there.

    Args:
        memories: as a frontend gives them, not yet validated.

    Returns:
        Whether any was not there.
    """
    texts = _texts(memories)
    was_new = False
    missed = keywords.cache_info().misses
    while some := list(itertools.islice(texts, AT_ONCE)):
        for text in some:
            keywords(text)
        if (now := keywords.cache_info().misses) != missed:
            missed, was_new = now, True
            for text in some:
                words(text)
                guess_kind(text)
            await asyncio.sleep(0)
            missed = keywords.cache_info().misses
    return was_new


def _texts(memories: Sequence[Memory | Mapping[str, Any]]) -> Iterator[str]:
    for memory in memories:
        if isinstance(memory, Memory):
            yield memory.text
            continue
        text = memory.get("text") if isinstance(memory, Mapping) else None
        # A longer one is cut first, so that this one is never looked up; nor is one that is no clean text.
        if isinstance(text, str) and len(text) <= MAX_MEMORY_CHARS and is_clean(text):
            yield text
