"""Keywords of Chinese and English text, each with how often it occurs."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from memsift_schemas.words import CACHED_TEXTS, fold, terms


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
