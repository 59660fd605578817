"""The signals one by one."""

import math
import statistics
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_producer.prefilter.signals import keyword_scores, mix, normalised, recency, similarities
from memsift_schemas import InvalidInput
from tests.samples import NOW, memory

MISSING = math.nan


def test_recency_is_halved_at_the_half_life_and_full_in_the_future():
    ages = [-3, 0, 30, 60]
    given = [memory(at, created_at=NOW - timedelta(days=age)) for at, age in enumerate(ages)]
    assert recency(given, NOW, 30.0) == pytest.approx([1, 1, 0.5, 0.25])


def test_an_unknown_time_is_a_missing_signal_and_no_age():
    given = [memory(0, created_at=None), memory(1, created_at=NOW), memory(2, created_at=None)]
    assert recency(given, NOW, 30.0) == pytest.approx([MISSING, 1, MISSING], nan_ok=True)


def test_a_rare_word_weighs_more_than_a_common_one():
    texts = ["Mara owns drums", "Mara owns bikes", "Jonas owns kayaks", "Lena sings songs"]
    given = [memory(at, text=text) for at, text in enumerate(texts)]
    common, as_common, rare, nothing = keyword_scores("Mara's kayak", given)
    assert rare > common == as_common > nothing == 0


def test_of_equal_hits_the_shorter_text_scores_higher():
    texts = ["kayak", "kayak, tent, stove, rope, lamp", "sings"]
    short, long, _ = keyword_scores("kayak", [memory(at, text=t) for at, t in enumerate(texts)])
    assert short > long


@pytest.mark.parametrize("query", ["What is it?", "…", "zeppelin"])
def test_no_hit_is_no_signal(query):
    scores = keyword_scores(query, [memory(at) for at in range(4)])
    assert all(map(math.isnan, normalised(scores)))


def test_query_embedding_gives_cosines():
    vectors = [(2.0, 0.0), (0.0, 3.0), (-1.0, 0.0), None, (1.0,), (0.0, 0.0)]
    given = [memory(at, similarity=None, embedding=v) for at, v in enumerate(vectors)]
    found = similarities(given, [5.0, 0.0])
    assert found == pytest.approx([1, 0, -1, MISSING, MISSING, MISSING], nan_ok=True)


def test_similarities_of_two_sorts_are_not_mixed():
    # Given one memory with a vector and two with the store's similarity
    given = [memory(0, similarity=None, embedding=(1.0, 0.0)), memory(1), memory(2)]
    assert similarities(given, [1.0, 0.0]) == pytest.approx([MISSING, 0.79, 0.78], nan_ok=True)
    # Then of as many the cosine is taken
    assert similarities(given[:2], [1.0, 0.0]) == pytest.approx([1, MISSING], nan_ok=True)


@pytest.mark.parametrize("query", [[], [math.nan, 1.0], [math.inf, 1.0]])
def test_a_query_embedding_without_direction_is_refused(query):
    with pytest.raises(InvalidInput, match="query_embedding"):
        similarities([memory(embedding=(1.0, 0.0))], query)


@pytest.mark.parametrize("signal", [[3.0, 3.0], [0.1 + 0.2, 0.3], [MISSING, 2.0], [MISSING, MISSING], [0.0]])
def test_a_signal_that_tells_nothing_apart_is_missing(signal):
    assert all(map(math.isnan, normalised(signal)))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_normalised_is_centred_with_unit_spread_at_any_scale(values):
    scores = normalised(values)
    if any(map(math.isfinite, scores)):
        assert statistics.fmean(scores) == pytest.approx(0, abs=1e-6)
        assert statistics.pstdev(scores) == pytest.approx(1)


def test_missing_weight_goes_to_the_signals_present():
    signals = [[1.0, MISSING, MISSING], [0.0, 2.0, MISSING]]
    assert mix(signals, [3.0, 1.0]) == pytest.approx([0.75, 2.0, 0.0])


def test_without_weight_on_what_is_present_all_tie():
    assert mix([[1.0, 2.0], [MISSING, MISSING]], [0.0, 1.0]) == [0.0, 0.0]
