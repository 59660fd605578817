"""Keywords of both languages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_producer.prefilter.tokens import keywords
from memsift_schemas.words import CACHED_TEXTS, stem


def words(text):
    return set(keywords(text).counts)


@pytest.mark.parametrize(
    ("question", "memory", "shared"),
    [
        ("Where did Mara go?", "Mara went to Trieste", "go"),
        ("Which cities did she visit?", "She is visiting the city of Graz", "visit"),
        ("Is she planning a party?", "They planned two parties", "plan"),
        ("What do the boxes weigh?", "One box weighed 3 kg", "weigh"),
        ("Ｗｉ－Ｆｉ　ｃｏｄｅ？", "the wi-fi code", "code"),
        ("我下周三要去哪出差？", "周三到上海出差", "周三"),
        ("出行计划", "旅行安排", "行"),
        ("iPhone15 放在哪？", "The iphone15 is in the drawer", "iphone15"),
    ],
)
def test_forms_of_one_word_meet(question, memory, shared):
    assert shared in words(question) & words(memory)


def test_chinese_is_cut_without_invented_words():
    # The hidden Markov model would make 我下 and 我订 of these.
    assert {"周三", "酒店"} <= words("我下周三去，帮我订酒店")
    assert not {"我下", "我订"} & words("我下周三去，帮我订酒店")


@pytest.mark.parametrize("text", ["What did you do?", "你是什么？", "…!?", " ", "😀"])
def test_text_without_keywords_has_none(text):
    assert keywords(text) == ({}, 0)


def test_repeats_count():
    # When a word occurs in two forms, Then both count
    found = keywords("tea, more teas, 茶")
    assert found.counts["tea"] == 2
    assert found.length == 4


@pytest.mark.parametrize(
    ("word", "expected"),
    [("pass", "pass"), ("running", "run"), ("tried", "try"), ("bus", "bus"), ("30s", "30s"), ("ate", "eat")],
)
def test_stems(word, expected):
    assert stem(word) == expected


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_any_text_has_keywords_that_add_up(text):
    found = keywords(text)
    assert found.length == sum(found.counts.values())
    assert all(word.strip() == word != "" for word in found.counts)


def test_the_cache_is_bounded():
    for number in range(CACHED_TEXTS + 10):
        keywords(f"note {number}")
    assert keywords.cache_info().currsize == CACHED_TEXTS
