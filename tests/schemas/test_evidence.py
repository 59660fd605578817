"""Evidence is one finite number per candidate: the place among them, and what of the question each holds."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_schemas.evidence import COVERAGE_WEIGHT, evidence, vocabulary

words = st.sets(st.sampled_from("abcdefgh"), max_size=6)
scores = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20)


@given(scores, words, st.data())
def test_every_candidate_has_one_finite_number(values, asked, data):
    held = data.draw(st.lists(words, min_size=len(values), max_size=len(values)))
    found = evidence(values, asked, held)
    assert len(found) == len(values)
    assert all(map(math.isfinite, found))


@given(scores, words)
def test_among_candidates_that_hold_the_same_words_the_better_one_has_no_less(values, asked):
    found = evidence(values, asked, [asked] * len(values))
    best = max(range(len(values)), key=values.__getitem__)
    assert found[best] == max(found)


def test_worked_by_hand():
    # z-scores of (3, 1): 1 and -1; the first holds both words, the second one of them.
    found = evidence([3.0, 1.0], {"key", "cabin"}, [{"key", "cabin", "pot"}, {"cabin"}])
    assert found == (1 + COVERAGE_WEIGHT, -1 + COVERAGE_WEIGHT / 2)


def test_the_scale_of_the_scores_does_not_matter():
    held = [{"a"}, set(), {"a", "b"}]
    assert evidence([1.0, 2.0, 4.0], {"a", "b"}, held) == evidence([1e200, 2e200, 4e200], {"a", "b"}, held)


def test_alone_or_tied_only_the_words_speak():
    assert evidence([7.0], {"a", "b"}, [{"b"}]) == (COVERAGE_WEIGHT / 2,)
    assert evidence([7.0, 7.0], {"a"}, [{"a"}, set()]) == (COVERAGE_WEIGHT, 0.0)
    assert evidence([7.0], set(), [{"a"}]) == (0.0,)
    assert evidence([], {"a"}, []) == ()


@pytest.mark.parametrize(
    ("text", "holds"), [("The keys are here.", {"key"}), ("备用钥匙", {"备用", "钥匙", "备", "用"})]
)
def test_a_vocabulary_is_what_texts_are_found_by(text, holds):
    assert holds <= vocabulary(text)
