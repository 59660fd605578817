"""Guessed kinds, and the prompt's order."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memsift_producer.prefilter import by_kind, guess_kind, kinds
from memsift_producer.prefilter.kinds import with_kind
from memsift_schemas import Kind
from tests.samples import memory

TIME_BOUND = [
    "The dentist moved Mara's appointment to April 14.",
    "Jonas arrives tomorrow on the night train.",
    "They met two weeks ago in Graz.",
    "Mara flies back next Sunday.",
    "Rent is due on the 3rd of May",
    "The lease ends 2026-07-31.",
    "Choir rehearsal is on Tuesdays at 7 pm.",
    "下周三去上海出差，住两晚。",
    "妈妈的体检约在4月14日。",
    "三月五日交房租",
    "明早七点半的高铁",
    "周五晚上有合唱排练",
    "两个月前搬到了杭州",
    "月底要交季度报告",
]
PREFERENCE = [
    "Mara prefers meetings after 3 pm.",
    "I don't like cilantro",
    "Jonas hates flying.",
    "We really love old maps",
    "Her favourite colour is ochre.",
    "He is allergic to hazelnuts",
    "I can't stand loud restaurants",
    "我喜欢靠窗的座位",
    "老王讨厌香菜",
    "她对花生过敏",
    "爸爸不吃羊肉",
    "我偏好早上开会",
    "他爱喝乌龙茶",
]
FACT = [
    "Mara's sister is called Lena.",
    "It looks like a big house",
    "You may go on the march, and so will they",
    "I'd like a room with a desk",
    "The family album is a labour of love",
    "家里的无线密码是蓝色小象",
    "表姐住在苏州",
    "有一点远，点心铺在街角",
]


@pytest.mark.parametrize("text", TIME_BOUND)
def test_dates_and_times_are_time_bound(text):
    assert guess_kind(text) is Kind.TIME_BOUND


@pytest.mark.parametrize("text", PREFERENCE)
def test_tastes_are_preferences(text):
    assert guess_kind(text) is Kind.PREFERENCE


@pytest.mark.parametrize("text", FACT)
def test_the_rest_is_fact(text):
    assert guess_kind(text) is Kind.FACT


@pytest.mark.parametrize("kind", [Kind.TIME_BOUND, Kind.PREFERENCE, Kind.FACT])
def test_a_kind_that_was_set_wins(kind):
    given = memory(text="I love the night train that leaves tomorrow", kind=kind)
    assert with_kind(given) is given


def test_an_unknown_kind_is_filled_in_and_nothing_else():
    given = memory(text="Jonas hates flying.")
    assert with_kind(given) == given.model_copy(update={"kind": Kind.PREFERENCE})


def test_prompt_order_is_by_kind_and_keeps_the_order_within_one():
    # Given two memories of every kind
    kinds = [Kind.FACT, Kind.UNKNOWN, Kind.TIME_BOUND, Kind.PREFERENCE]
    given = [memory(at, kind=kinds[at % 4]) for at in range(8)]
    # Then
    assert [m.id for m in by_kind(given)] == ["m2", "m6", "m3", "m7", "m0", "m4", "m1", "m5"]


@given(st.text(st.characters(max_codepoint=127)))
@example("1 2 3 4 5 6 7 8 9 10 11 12")
def test_no_chinese_pattern_matches_text_without_chinese(text):
    """`guess_kind` does not even ask them."""
    patterns = (kinds._CHINESE_DATE, kinds._CHINESE_PREFERENCE, kinds._CHINESE_TIME)
    assert not any(pattern.search(text) for pattern in patterns)


@given(st.one_of(st.from_regex(kinds._DATE), st.from_regex(kinds._TIME)))
def test_every_date_and_time_holds_what_is_looked_for_first(text):
    assert kinds._holds(text, kinds._TIMELY) or kinds._DIGIT.search(text)


@given(st.from_regex(kinds._PREFERENCE))
def test_every_taste_holds_what_is_looked_for_first(text):
    assert kinds._holds(text, kinds._TASTES)
