"""A memory that corrects an older one comes before it, unless the question is about the past."""

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_schemas.settings import WorkerSettings
from memsift_workers.rankers.jev import FEATURES, features, weights
from memsift_workers.rankers.jev.analysis import analyse
from memsift_workers.rankers.jev.updates import updates
from tests.samples import NOW, job, memory

WEIGHTS = weights(WorkerSettings())
WITHOUT = weights(WorkerSettings(jev_weight_updates=0))
OTHERS = (
    "The boat is at the north pier.",
    "周六上午要交物业费。",
    "Her brother keeps bees.",
    "冰箱里还有半个西瓜。",
)
CASES = [
    (
        "Which dentist do I see, and on which day?",
        "User's dentist is Dr. Amberly on Lark Street, who sees user on a Monday.",
        "Dr. Amberly has closed her practice; from now on user goes to Dr. Quist, on Thursdays.",
    ),
    (
        "健身房的会员卡办在哪一家，教练是谁？",
        "健身房的会员卡办在云栖路那一家，教练是小陶。",
        "小陶教练离职了，会员卡改到滨江店用，跟阿坤练。",
    ),
]


def asked(query, old, new, *, newer=30):
    """The old memory first, the new one `newer` days later, and four that have nothing to do with them."""
    learned = NOW - timedelta(days=200)
    candidates = [
        memory(0, text=old, similarity=0.86, created_at=learned),
        memory(1, text=new, similarity=0.82, created_at=learned + timedelta(days=newer)),
        *(memory(at, text=text, similarity=0.7, created_at=learned) for at, text in enumerate(OTHERS, 2)),
    ]
    return job(query=query, candidates=tuple(candidates), prior=())


def best(whole, by=WEIGHTS):
    return int(np.argmax(features(whole) @ by))


@pytest.mark.parametrize(("query", "old", "new"), CASES)
def test_the_correction_comes_before_what_it_corrects(query, old, new):
    whole = asked(query, old, new)
    assert best(whole, by=WITHOUT) == 0
    assert best(whole) == 1


@pytest.mark.parametrize(("query", "old", "new"), CASES)
def test_an_older_memory_corrects_nothing(query, old, new):
    assert best(asked(query, old, new, newer=-30)) == 0


@pytest.mark.parametrize(
    ("query", "case"),
    [("Which dentist did I see before, on which day?", 0), ("以前健身房的会员卡办在哪一家，教练是谁？", 1)],
)
def test_a_question_about_the_past_wants_the_old_one(query, case):
    _, old, new = CASES[case]
    assert best(asked(query, old, new)) == 0


def test_a_change_of_something_else_corrects_nothing():
    query, old, _ = CASES[0]
    assert best(asked(query, old, "The bakery no longer opens on Thursdays.")) == 0


WORDS = st.lists(
    st.sampled_from(["dentist", "Monday", "moved", "换成", "new", "牙医", "周四", "lark"]),
    min_size=1,
    max_size=6,
)


@given(st.lists(st.tuples(WORDS, st.integers(0, 400), st.floats(-5, 5)), min_size=1, max_size=12))
def test_none_is_lifted_above_the_best_that_is_older(memories):
    texts = [analyse(" ".join(words)) for words, _, _ in memories]
    created = [NOW - timedelta(days=days) for _, days, _ in memories]
    fit = np.array([value for *_, value in memories])
    gained = updates("which dentist", texts, created, fit)
    if gained is None:
        return
    for at, gain in enumerate(gained):
        older = [fit[other] for other in range(len(memories)) if created[other] < created[at]]
        assert gain >= 0
        assert gain == 0 or fit[at] + gain <= max(older) + 1e-9


def test_a_long_number_names_one_thing():
    texts = ("The parcel number is 48213.", "The parcel number is 77015.")
    learned = NOW - timedelta(days=60)
    given_ones = tuple(
        memory(at, text=text, similarity=0.8, created_at=learned) for at, text in enumerate(texts)
    )
    held = features(job(query="What came in parcel 77015?", candidates=given_ones, prior=()))
    assert held[:, FEATURES.index("same_name")].tolist() == [0, 1]
    assert held[:, FEATURES.index("other_name")].tolist() == [1, 0]


def test_one_whose_time_is_unknown_neither_corrects_nor_is_corrected():
    texts = [analyse(text) for text in (CASES[0][1], CASES[0][2], *OTHERS)]
    fit = np.array([1.0, *[0.0] * (len(texts) - 1)])
    day = NOW - timedelta(days=30)
    found = {
        (old, new): updates("which dentist do i see", texts, [old, new, *[NOW] * len(OTHERS)], fit)[1]
        for old in (day, None)
        for new in (NOW, None)
    }
    assert found.pop((day, NOW)) == 1
    assert set(found.values()) == {0}
