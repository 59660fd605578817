"""What a text is found by: its terms, the part of speech of each, the names it holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

import rjieba

from memsift_schemas.words import CACHED_TEXTS, HAN, fold, terms
from memsift_workers.rankers.jev.english import KIN_STEMS, TIME_STEMS, VERB_STEMS, names_en
from memsift_workers.rankers.jev.times import without_relative

_CACHED_QUERIES = 512  # one is looked at three times: by the store of idf, the features, the evidence
_CAPITAL = re.compile("[A-Z]")
# A telephone's, an order's, a room's: it names one thing as a name does. Years are times.
_NUMBER = re.compile(r"\d{3,}(?<!^19\d\d)(?<!^20\d\d)")
# jieba's tags of person, place, organisation and other proper names.
_NAME_TAGS = frozenset(["nr", "ns", "nt", "nz", "nrt", "nrfg"])
# 李总, 王阿姨, 赵老师, 小孟, 老周: jieba cuts most of them in two.
_TITLED = re.compile(
    "[赵钱孙李周吴郑王冯陈卫蒋沈韩杨朱秦许何吕张孔曹严金魏陶姜谢邹苏潘葛范彭鲁马方任袁柳唐罗薛雷贺汤"
    "殷毕郝安常于傅齐康余顾孟黄萧尹姚邵汪毛米戴宋庞熊纪舒项祝董梁杜蓝闵季贾路江童郭梅林钟徐邱骆高夏蔡"
    "田胡凌霍万卢莫房解丁邓洪包石崔龚程邢裴陆翁段侯宁武刘龙叶黎白赖乔谭温庄柴阎习艾廖欧曾关丰岳]"
    "(?:总|老师|医生|大夫|经理|主任|教授|律师|师傅|阿姨|叔叔|伯伯|奶奶|爷爷|先生|女士|太太|姐|哥|叔|姨|工|局|董)"
)

_CHINESE_KIN = """
妈妈 爸爸 母亲 父亲 妈 爸 妻子 老婆 太太 丈夫 老公 先生 儿子 女儿 孩子 哥哥 弟弟 姐姐 妹妹 哥 弟 姐 妹
爷爷 奶奶 外公 外婆 姥姥 姥爷 岳母 岳父 婆婆 公公 叔叔 阿姨 舅舅 舅妈 姑姑 姑妈 姨妈 伯伯 侄子 侄女 外甥
表哥 表弟 表姐 表妹 堂哥 堂弟 堂姐 堂妹 同事 上司 老板 下属 同学 室友 邻居 导师 男朋友 女朋友
"""
# Who somebody is to the user stands for a name.
KIN = KIN_STEMS | frozenset(_CHINESE_KIN.split())


class Class(IntEnum):
    """What sort of evidence a term is."""

    OTHER = 0
    NAME = 1
    VERB = 2
    TIME = 3
    CHARACTER = 4  # a character of a longer Chinese word


class Text(NamedTuple):
    """A text as BM25 sees it.

    Attributes:
        counts: how often each term occurs; not to be changed, the cache holds it.
        length: the number of terms, repeats included.
        folded: the text in lower case, full-width forms made plain.
        names: terms that are written as names, and relatives.
    """

    counts: dict[str, int]
    length: int
    folded: str
    names: frozenset[str]

    def holds(self, name: str) -> bool:
        """Whether the text says this name: as a word, or anywhere for a Chinese one."""
        return name in (self.counts if name.isascii() else self.folded)


class Query(NamedTuple):
    """A question.

    Attributes:
        folded: the question, folded.
        text: its terms, without those of relative times.
        classes: the class of each distinct term, in the order of `text.counts`.
        names: strings that may be names, folded; a memory that holds one names it.
    """

    folded: str
    text: Text
    classes: tuple[Class, ...]
    names: tuple[str, ...]


@lru_cache(CACHED_TEXTS)
def analyse(text: str) -> Text:
    """Terms of a text: stemmed English words; Chinese words and their single characters; no stopwords."""
    folded = fold(text)
    counts = terms(folded)
    names = names_en(text) if _CAPITAL.search(text) else frozenset[str]()
    if not folded.isascii():
        names |= frozenset(_TITLED.findall(folded))
    names |= {term for term in counts if _NUMBER.fullmatch(term)}
    return Text(counts, counts.total(), folded, names | (KIN & counts.keys()))


@lru_cache(_CACHED_QUERIES)
def analyse_query(query: str) -> Query:
    """Terms of a question with their parts of speech, and its names."""
    whole = analyse(query)
    text = analyse(without_relative(whole.folded))._replace(names=whole.names)
    tags: dict[str, str] = {}
    names = list(text.names)
    if HAN.search(text.folded):
        tags = dict(rjieba.tag(text.folded, False))
        names += _chinese_names(text.folded)
    classes = tuple(_classify(term, tags, text.names) for term in text.counts)
    return Query(whole.folded, text, classes, tuple(dict.fromkeys(names)))


def _chinese_names(folded: str) -> Iterator[str]:
    yield from _TITLED.findall(folded)
    for hmm in (False, True):
        for word, tag in rjieba.tag(folded, hmm):
            if tag in _NAME_TAGS and len(word) > 1 and HAN.match(word):
                yield word


def _classify(term: str, tags: dict[str, str], names: frozenset[str]) -> Class:
    tag = tags.get(term, "")
    if term in KIN or term in names or tag in _NAME_TAGS:
        return Class.NAME
    if term in TIME_STEMS or tag == "t":
        return Class.TIME
    if term in VERB_STEMS or tag.startswith("v"):
        return Class.VERB
    return Class.OTHER if tag or term.isascii() else Class.CHARACTER
