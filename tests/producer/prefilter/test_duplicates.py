"""What counts as saying the same, and which of two survives."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_producer.prefilter import duplicates as module
from memsift_producer.prefilter.duplicates import duplicates
from tests.samples import NOW, memory

REWORDED = [
    ("User prefers a window seat on night trains.", "The user prefers window seats on night trains"),
    ("I'm allergic to hazelnuts", "I am allergic to hazelnuts."),
    ("In May Jonas moved to Trieste", "Jonas moved to Trieste in May"),
    ("I don't eat pork", "I do not eat pork"),
    ("Mara works at a bakery in Graz", "Mara works in a small bakery in Graz"),
    ("I really love hiking in the hills", "I love hiking in the hills"),
    ("我喜欢喝黑咖啡", "我很喜欢喝黑咖啡。"),
    ("周三要去上海出差，想订一个有书桌的酒店", "我周三要去上海出差，想订有书桌的酒店。"),
    ("妈妈不能吃甜食，要控制血糖", "妈妈不能吃甜的，要控制血糖"),
]
DIFFERENT = [
    ("My flight to Rome leaves on May 3 at 9 am", "My flight to Rome leaves on May 5 at 9 am"),
    ("The gate code is 4471", "The gate code is 4417"),
    ("I have two cats at home", "I have three cats at home"),
    ("Rehearsal is at 3", "Rehearsal is at 3 on Friday"),
    ("Mara's favourite dance is the tango", "Lena's favourite dance is the tango"),
    ("Dinner with Mara at the old harbour", "Dinner with Mara and Jonas at the old harbour"),
    ("Mara lent Jonas money", "Jonas lent Mara money"),
    ("Train from Graz to Trieste at dawn", "Train from Trieste to Graz at dawn"),
    ("I like cilantro", "I don't like cilantro"),
    ("I eat meat on weekends with my family", "I never eat meat on weekends with my family"),
    ("I take my coffee with milk", "I take my coffee without milk"),
    ("I have a membership of the climbing hall", "I cancelled my membership of the climbing hall"),
    ("5月3日的航班", "5月5日的航班"),
    ("下周三去上海出差", "上周三去上海出差"),
    ("我有两只猫", "我有三只猫"),
    ("小李住在海淀", "小王住在海淀"),
    ("从北京飞上海的机票", "从上海飞北京的机票"),
    ("我喜欢香菜", "我不喜欢香菜"),
    ("公司的年会取消了，在国际饭店", "公司的年会，在国际饭店"),
]
# What an embedding alone cannot tell apart.
PARTICULARS = [pair for pair in DIFFERENT if "membership" not in pair[0]]


def pair(one, other, **fields):
    return [
        memory(1, text=one, created_at=NOW - timedelta(days=9), **fields),
        memory(2, text=other, created_at=NOW - timedelta(days=2), **fields),
    ]


@pytest.mark.parametrize(("older", "newer"), REWORDED)
def test_of_two_rewordings_the_newer_survives(older, newer):
    assert duplicates(pair(older, newer)) == {0}
    assert duplicates(pair(newer, older)) == {0}
    assert duplicates(pair(older, newer)[::-1]) == {1}


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_a_different_particular_is_no_duplicate(one, other):
    assert duplicates(pair(one, other)) == frozenset()


@pytest.mark.parametrize(("one", "other"), PARTICULARS)
def test_nor_when_the_embeddings_agree(one, other):
    assert duplicates(pair(one, other, embedding=(0.6, 0.8))) == frozenset()


def test_embeddings_find_what_words_do_not():
    # Given two sentences that share nothing but who speaks and a negation
    texts = ("I can't bear noisy restaurants", "I do not cope with loud eateries")
    assert duplicates(pair(*texts)) == frozenset()
    # Then a cosine over .92 merges them
    assert duplicates(pair(*texts, embedding=(0.6, 0.8))) == {0}


@pytest.mark.parametrize(("other", "expected"), [((1.0, 0.42), {0}), ((1.0, 0.43), frozenset())])
def test_the_cosine_must_exceed_its_threshold(other, expected):
    one, two = pair("I do not cope with loud eateries", "I can't bear noisy restaurants")
    given = [one.model_copy(update={"embedding": (1.0, 0.0)}), two.model_copy(update={"embedding": other})]
    assert duplicates(given) == expected


@pytest.mark.parametrize("other", [None, (1.0, 0.0, 0.0), (), (0.0, 0.0)])
def test_without_two_comparable_embeddings_nothing_is_merged_by_them(other):
    one, two = pair("I do not cope with loud eateries", "I can't bear noisy restaurants")
    given = [one.model_copy(update={"embedding": (1.0, 0.0)}), two.model_copy(update={"embedding": other})]
    assert duplicates(given) == frozenset()


def test_of_equally_new_ones_the_first_survives():
    assert duplicates([memory(at, text="我对花生过敏", created_at=NOW) for at in range(3)]) == {1, 2}


def test_one_whose_time_is_unknown_goes_before_one_that_is_dated():
    times = (None, NOW - timedelta(days=900), None)
    given = [memory(at, text="我对花生过敏", created_at=time) for at, time in enumerate(times)]
    assert duplicates(given) == {0, 2}
    assert duplicates([one.model_copy(update={"created_at": None}) for one in given]) == {1, 2}


def test_the_ends_of_a_chain_both_stay():
    # Given three rewordings, each a little longer than the last, the middle one the oldest
    words = "the cabin key hangs behind a red door beside garden steps"
    texts = [words, words + " near old well", words + " near old well under green ivy"]
    ages = [2, 9, 1]
    given = [
        memory(at, text=text, created_at=NOW - timedelta(days=ages[at])) for at, text in enumerate(texts)
    ]
    # Then it goes for the newest, and the ends, which are no duplicates, stay
    assert duplicates(given) == {1}


def test_texts_without_words_repeat_only_themselves():
    texts = ["！！！", "...", "！！！", "the", "so"]
    given = [memory(at, text=text, created_at=NOW) for at, text in enumerate(texts)]
    assert duplicates(given) == {2}


@given(
    st.lists(st.sampled_from([text for two in REWORDED + DIFFERENT for text in two]), max_size=20, min_size=1)
)
def test_whatever_goes_has_a_newer_survivor(texts):
    given = [memory(at, text=text) for at, text in enumerate(texts)]
    gone = duplicates(given)
    stay = [at for at in range(len(texts)) if at not in gone]
    assert all(any(at < one and duplicates([given[at], given[one]]) for at in stay) for one in gone)
    assert not duplicates([given[at] for at in stay])


@pytest.mark.parametrize("bits", [64, 512])
def test_words_that_share_a_bit_make_no_duplicates(bits, monkeypatch):
    # Given signatures so short that many words fall on the same bit
    monkeypatch.setattr(module, "_SIGNATURE_BITS", bits)
    module.words.cache_clear()
    # Then the look at the words themselves tells the pairs apart as before
    for texts, gone in [*((pair, {1}) for pair in REWORDED), *((pair, set()) for pair in DIFFERENT)]:
        given = [memory(at, text=text, created_at=NOW) for at, text in enumerate(texts)]
        assert duplicates(given) == gone
    module.words.cache_clear()


@given(st.text(), st.text())
def test_negations_are_looked_for_wherever_one_may_be(before, after):
    for text in (before, f"{before}can{after}", f"{before}n't{after}", f"{before}cannot{after}"):
        if module._NEGATION.search(text):
            assert any(one in text for one in module._NEGATIVES)
