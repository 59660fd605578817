"""What embeddings tell, and what is said where numpy is not installed."""

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_producer.prefilter.embeddings import LEAST_COSINE, comparable, cosines, near
from memsift_schemas import InvalidInput
from tests.samples import memory


def embedded(*vectors):
    return [memory(at, embedding=vector) for at, vector in enumerate(vectors)]


def test_pairs_that_nearly_agree_are_found_whatever_their_length_and_size():
    given = embedded((1.0, 0.0), (5.0, 0.1), None, (0.0, 1.0), (1.0,), (2.0,), (0.0, 0.0), ())
    assert sorted(near(given)) == [(0, 1), (4, 5)]


@given(st.lists(st.tuples(*[st.floats(-1, 1)] * 3), max_size=8))
def test_they_are_those_whose_cosine_is_large(vectors):
    found = set(near(embedded(*vectors)))
    for one, first in enumerate(vectors):
        for other, second in enumerate(vectors[one + 1 :], start=one + 1):
            lengths = math.hypot(*first) * math.hypot(*second)
            cosine = sum(a * b for a, b in zip(first, second, strict=True)) / lengths if lengths else 0.0
            if abs(cosine - LEAST_COSINE) > 1e-5 and lengths > 1e-9:
                assert ((one, other) in found) == (cosine > LEAST_COSINE)


def test_only_vectors_of_one_length_compare():
    one, other, longer, none = embedded((1.0, 0.0), (0.0, 1.0), (1.0, 0.0, 0.0), None)
    assert comparable(one, other)
    assert not any(comparable(one, another) for another in (longer, none))


def test_without_numpy_embeddings_are_refused_with_the_remedy_and_nothing_else_is(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    given = embedded((1.0, 0.0), (0.0, 1.0))
    for refused in (lambda: list(near(given)), lambda: cosines(given, [1.0, 0.0])):
        with pytest.raises(InvalidInput, match=r"pip install 'memsift\[embeddings\]'"):
            refused()
    assert list(near(embedded(None, None))) == []
    assert all(map(math.isnan, cosines(embedded(None), [1.0])))
