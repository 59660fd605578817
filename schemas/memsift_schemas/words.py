"""From text to terms, in Chinese and English: folding, cutting, stopwords, an English stemmer."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import chain
from types import ModuleType

HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_WORD = re.compile(r"[^\W_]+")
_CACHED_WORDS = 32_768
# Of every cache by text: the same memories come back with every turn. An entry takes .5 to 2 KB; all of a
# frontend's take some 20 MB when they are full.
CACHED_TEXTS = 8192

_ENGLISH_STOPWORDS = """
a about also am an and any are as at be been being but by can could d did do does doing for from had has
have having he her here him his how i if in is it its just ll m may me might mine must my no nor not of on
or our ours re s shall she should so some t than that the their theirs them then there these they this those
to too us ve very was we were what when where which who whom whose why will with would you your yours
"""
_CHINESE_STOPWORDS = """
的 地 得 了 着 过 吗 呢 吧 啊 呀 嘛 是 在 我 你 他 她 它 我们 你们 他们 她们 我的 你的
这 那 哪 这个 那个 哪个 哪些 什么 怎么 怎样 什么样 为什么
如何 多少 是否 和 与 就 也 都 很 有 个 一个 不 要 会 能 可以 到 说 去 请 请问 以及 或者 但 但是 因为 所以 如果
"""
# Words that say how a question is asked, not what it is about. "no", "not" and 不 are among them: to which
# memory a question belongs does not hang on a negation (duplicates.py is where it does).
STOPWORDS = frozenset(_ENGLISH_STOPWORDS.split()) | frozenset(_CHINESE_STOPWORDS.split())

# Verbs and plurals of daily life that no suffix rule finds; on LoCoMo they are worth .01 to .02 MRR of BM25,
# since questions ask "where did she go" of memories that say "went".
_IRREGULAR = """
become became; begin began begun; break broke broken; bring brought; build built; buy bought; catch
caught; child children; choose chose chosen; come came; draw drew drawn; drive drove driven; eat ate
eaten; fall fell fallen; feel felt; fight fought; find found; fly flew flown; foot feet; forget forgot
forgotten; get got gotten; give gave given; go went gone; grow grew grown; hear heard; hide hid hidden;
hold held; keep kept; know knew known; leave left; lose lost; make made; meet met; mouse mice; pay paid;
person people; ride rode ridden; run ran; say said; see saw seen; sell sold; send sent; sing sang sung;
sleep slept; speak spoke spoken; spend spent; swim swam swum; take took taken; teach taught; tell told;
think thought; tooth teeth; wear wore worn; wife wives; win won; write wrote written
"""
_BASE_FORM = {
    form: forms[0] for forms in (entry.split() for entry in _IRREGULAR.split(";")) for form in forms[1:]
}
_SHORTEST_STEMMED = 4
_CACHED_STEMS = 16_384


def fold(text: str) -> str:
    """One form for what reads alike: lower case, full-width letters and digits made plain (NFKC)."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).lower()


def jieba() -> ModuleType:
    """Jieba with its dictionary.

    The first call reads it, in 120 ms during which nothing else runs: a process makes it while it starts.
    """
    import rjieba  # noqa: PLC0415  # a frontend's import would take twice as long

    return rjieba


def terms(folded: str) -> Counter[str]:
    """How often each term occurs in a folded text.

    Chinese is cut by jieba's dictionary without its hidden Markov model, which invents words such as 我下
    (from 我下周三). The characters beside the words make up for cuts that differ between question and memory,
    and for near-synonyms (出行, 旅行). MRR of BM25 on the 433 Chinese evaluation queries: words and
    characters .83, words alone .80, character bigrams .80, characters and bigrams .82, jieba's search mode
    .77.
    """
    words = jieba().cut(folded, False) if HAN.search(folded) else _WORD.findall(folded)
    return Counter(chain.from_iterable(map(_terms_of, words)))


@lru_cache(_CACHED_WORDS)
def _terms_of(word: str) -> tuple[str, ...]:
    """What one word of a text is found by; nothing for stopwords, spaces and punctuation."""
    if word in STOPWORDS or not word.isalnum():
        return ()
    if len(word) == 1 or not HAN.match(word):
        return (stem(word),)
    return (word, *(character for character in word if character not in STOPWORDS))


@lru_cache(_CACHED_STEMS)
def stem(word: str) -> str:
    """The stem of one lower-case English word; other words come back as they are.

    A light stemmer (plural, -ing, -ed, final e, irregular forms), after Harman 1991, "How effective is
    suffixing?". Its ranking is within .003 MRR of the full Porter and Snowball stemmers on the evaluation
    sets, at no dependency.
    """
    word = _BASE_FORM.get(word, word)
    if len(word) < _SHORTEST_STEMMED or not word.isascii() or not word.isalpha():
        return word
    return _without_final_e(_without_tense(_singular(word)))


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("us", "ss")):
        return word[:-1]
    return word


def _without_tense(word: str) -> str:
    if word.endswith("ied"):
        return word[:-3] + "y"
    if word.endswith("ing") and len(word) > len("-ing") + 1:
        return _undoubled(word[:-3])
    if word.endswith("ed") and len(word) > len("-ed") + 1:
        return _undoubled(word[:-2])
    return word


def _undoubled(word: str) -> str:
    """Running, planned: run, plan; but call, pass."""
    doubled = len(word) >= _SHORTEST_STEMMED and word[-1] == word[-2] and word[-1] not in "ls"
    return word[:-1] if doubled else word


def _without_final_e(word: str) -> str:
    return word[:-1] if len(word) > _SHORTEST_STEMMED and word.endswith("e") else word
