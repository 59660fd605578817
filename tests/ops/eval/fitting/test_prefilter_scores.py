"""The prefilter's scores as a fit computes them, from rows of features, are the prefilter's."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_ops.evaluation.fitting.prefilter import _scores
from memsift_producer.prefilter.signals import mix

SIGNALS = 3
values = st.one_of(st.just(math.nan), st.floats(-5, 5))
rows = st.lists(st.tuples(*[values] * SIGNALS), min_size=1, max_size=20)
# As a fit has them: none, or one that is not lost beside the others.
weights = st.tuples(*[st.one_of(st.just(0.0), st.floats(1e-6, 5))] * SIGNALS)


@given(rows, weights)
def test_both_ways_give_the_same(rows, weights):
    found = _scores(np.array(rows, dtype=np.float64), np.array(weights)).tolist()
    assert found == pytest.approx(mix(list(zip(*rows, strict=True)), weights), abs=1e-9)
