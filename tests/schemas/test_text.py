"""Text that enters is fit to travel; long text is cut where a sentence ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_schemas.text import clean, cut, is_clean

any_text = st.text(alphabet=st.characters(exclude_categories=()), max_size=300)


@given(any_text)
def test_cleaned_text_encodes_and_is_left_alone_by_a_second_pass(text):
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert is_clean(cleaned)
    assert clean(cleaned) == cleaned


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("a\x00b\x1bc", "a b c"),
        ("a\ud800b", "a\ufffdb"),
        ("line one\r\nline two\tend", "line one\nline two\tend"),
        ("c1\x85control", "c1 control"),
        ("日程：周三 10 点 😀", "日程：周三 10 点 😀"),
    ],
)
def test_each_unfit_character_has_its_answer(given_text, expected):
    assert clean(given_text) == expected


@given(any_text, st.integers(min_value=1, max_value=200))
def test_a_cut_is_a_prefix_within_the_limit(text, limit):
    shortened, was_cut = cut(text, limit)
    assert len(shortened) <= limit
    assert text.startswith(shortened)
    assert was_cut == (len(text) > limit)


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("First one. Second one. Third", 25, "First one. Second one."),
        ("她周三去上海。回来后要写报告。还有别的事", 16, "她周三去上海。回来后要写报告。"),
        ("no sentence ends anywhere in here", 20, "no sentence ends"),
        ("x" * 30, 10, "x" * 10),
        ("version 3.14 is out now", 12, "version 3.14"),
    ],
)
def test_the_cut_falls_at_a_sentence_then_at_a_word_then_anywhere(text, limit, expected):
    assert cut(text, limit) == (expected, True)
