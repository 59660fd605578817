"""Keywords of Chinese and English text, each with how often it occurs."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from memsift_schemas.words import fold, terms

# The same memories come back with every turn. An entry takes .5 to 2 KB here and about
# as much in the other caches of this size: some 20 MB in all when full.
CACHED_TEXTS = 8192


class Keywords(NamedTuple):
    """The bag of words of one text.

    Attributes:
        counts: how often each keyword occurs; not to be changed, the cache holds it.
        length: the number of keywords, repeats included.
    """

    counts: dict[str, int]
    length: int


@lru_cache(CACHED_TEXTS)
def keywords(text: str) -> Keywords:
    """Keywords of a text: stemmed English words; Chinese words and their single characters; no stopwords."""
    counts = terms(fold(text))
    return Keywords(counts, counts.total())
