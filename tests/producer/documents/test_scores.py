"""Scores for clients: between 0 and 1, in the ranking's order, whatever the evidence is."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_producer.documents.scores import BY_PLACE, logit, pooled, relevance_scores
from memsift_schemas import Ranked

finite = st.floats(allow_nan=False, allow_infinity=False)
places = st.builds(
    Ranked,
    id=st.just("a"),
    score=finite,
    evidence=st.none() | finite,
    relevance=st.none() | st.floats(0, 1),
)


@given(st.lists(places, max_size=60), st.integers(0, 1_000))
def test_they_fall_strictly_between_0_and_1(ranking, behind):
    scores = relevance_scores(ranking, len(ranking) + behind)
    assert len(scores) == len(ranking) + behind
    assert all(0 < score < 1 for score in scores)
    assert all(left > right for left, right in pairwise(scores))
    raw = [logit(score) for score in scores]
    assert all(left > right for left, right in pairwise(raw))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_pooling_never_rises_and_keeps_the_mean(values):
    found = pooled(values)
    assert all(left >= right for left, right in pairwise(found))
    assert sum(found) == pytest.approx(sum(values))
    assert pooled(found) == pytest.approx(found)


@given(st.lists(st.floats(0, 1), max_size=30).map(lambda some: sorted(some, reverse=True)))
def test_pooling_leaves_alone_what_falls(values):
    assert pooled(values) == pytest.approx(values)


def test_a_calibrated_relevance_is_told_as_it_is():
    ranking = [
        Ranked(id=str(at), score=-at, evidence=9, relevance=value) for at, value in enumerate((0.8, 0.1))
    ]
    assert relevance_scores(ranking, 2) == pytest.approx([0.8, 0.1], abs=BY_PLACE)


def test_of_relevances_that_contradict_the_ranking_the_mean_is_told():
    ranking = [Ranked(id=str(at), score=-at, relevance=value) for at, value in enumerate((0.2, 0.6, 0.1))]
    assert relevance_scores(ranking, 3) == pytest.approx([0.4, 0.4, 0.1], abs=BY_PLACE)


def test_without_a_calibration_more_evidence_scores_higher_across_questions():
    weak, strong = (
        relevance_scores([Ranked(id="a", score=0, evidence=evidence)], 1)[0] for evidence in (0.0, 4.0)
    )
    assert weak < 0.2
    assert strong > 0.8


def test_what_no_ranker_saw_scores_next_to_nothing():
    scores = relevance_scores([Ranked(id="a", score=0, evidence=2.0)], 5)
    assert scores[0] > 0.4
    assert max(scores[1:]) < BY_PLACE
