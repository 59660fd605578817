"""Numbers, times, negations and names: what two texts must agree in to say the same."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from memsift_schemas.words import CACHED_TEXTS, HAN, STOPWORDS, jieba, stem

_LATIN = re.compile(r"\d+|[^\W\d_\u3400-\u9fff\uf900-\ufaff]+(?:['’][a-zA-Z]+)?")
_NEGATION = "not"
_NEGATIONS = frozenset(
    ["no", "not", "never", "none", "neither", "nor", "without", "cannot", "hardly", "rarely"]
)
_TIMES_AND_AMOUNTS = """
monday tuesday wednesday thursday friday saturday sunday january february march april june july august
september october november december today tonight tomorrow yesterday morning afternoon evening night noon
midnight pm next last before after until since ago half two three four five six seven eight nine ten
eleven twelve hundred thousand twice both
"""
_ENDINGS = "stop quit cancel cancelled former formerly longer"
_INSISTED = frozenset(stem(word) for word in (_TIMES_AND_AMOUNTS + _ENDINGS).split())
_NO_NAMES = frozenset(["user", "assistant"])
# 一 is not among the numbers: it is mostly an article.
_CHINESE = re.compile(
    """[上下本这]个?(?:周|星期|礼拜|月)[一二三四五六日天末]? | (?:周|星期|礼拜)[一二三四五六日天末]
    | 大?[今明后昨前]天 | [今明昨][早晚夜] | [今明后去前]年 | 早上|上午|中午|下午|傍晚|晚上|凌晨
    | [二两三四五六七八九十百千万半]+ | [不没未无勿莫] | 别(?!人|的) | 取消|停|戒|辞""",
    re.VERBOSE,
)
# jieba's tags of person, place, organisation and other proper names.
_NAME_TAGS = frozenset(["nr", "ns", "nt", "nz", "nrt", "nrfg"])


class _Particulars(NamedTuple):
    """What a text insists on, and what it says at all.

    Attributes:
        words: Latin words and numbers that the other text must have.
        strings: Chinese strings that the other text must contain.
        said: every Latin word and number.
        text: the text, NFKC.
    """

    words: frozenset[str]
    strings: frozenset[str]
    said: frozenset[str]
    text: str


def same_particulars(one: str, other: str) -> bool:
    """Whether each text says every number, time, negation and name that the other insists on."""
    first, second = _particulars(one), _particulars(other)
    return _says(first, second) and _says(second, first)


def _says(speaker: _Particulars, wanted: _Particulars) -> bool:
    return wanted.words <= speaker.said and all(string in speaker.text for string in wanted.strings)


@lru_cache(CACHED_TEXTS)
def _particulars(text: str) -> _Particulars:
    text = unicodedata.normalize("NFKC", text)
    forms = {form: _base(form) for form in _LATIN.findall(text)}
    words = frozenset(base for form, base in forms.items() if _insists(form, base))
    strings = frozenset(_CHINESE.findall(text) + _chinese_names(text)) if HAN.search(text) else frozenset()
    return _Particulars(words, strings, frozenset(forms.values()), text)


def _base(form: str) -> str:
    word = form.lower().replace("’", "'")
    if word in _NEGATIONS or word.endswith("n't"):
        return _NEGATION
    return stem(word.removesuffix("'s"))


def _insists(form: str, base: str) -> bool:
    if base == _NEGATION or base in _INSISTED or form.isdigit():
        return True
    # A sentence's first word may only look like a name; if the other text has it not, better keep both.
    return form[0].isupper() and form.lower() not in STOPWORDS and base not in _NO_NAMES and "'" not in base


def _chinese_names(text: str) -> list[str]:
    return [word for word, tag in jieba().tag(text) if tag in _NAME_TAGS and HAN.match(word)]
