"""How far two rankings agree: by hand, by the definitions, and at both ends."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_workers.shadow.agreement import agreement, kendall_tau, overlap, rank_biased_overlap

rankings = st.integers(1, 12).flatmap(
    lambda count: st.tuples(*[st.permutations([f"m{at}" for at in range(count)])] * 2)
)


def test_by_hand():
    found = agreement(("a", "b", "c", "d"), ("b", "a", "c", "d"), top_k=2)
    assert (found.first, found.first_in_picks, found.same_picks, found.top3) == (False, True, True, 1.0)
    assert found.tau == pytest.approx(1 - 2 / 6)
    # Depths 1 to 4 agree by 0, 2/2, 3/3, 4/4
    p = 0.9
    assert found.rbo == pytest.approx(p**4 + (1 - p) / p * (p**2 + p**3 + p**4))


@given(rankings)
def test_the_same_agrees_wholly_and_the_reverse_least(pair):
    one, other = pair
    same, back = agreement(one, one, top_k=3), agreement(one, one[::-1], top_k=3)
    assert (same.first, same.first_in_picks, same.same_picks) == (True, True, True)
    assert (same.top3, same.tau, same.rbo) == (1.0, 1.0, pytest.approx(1.0))
    assert back.tau == (-1.0 if len(one) > 1 else 1.0)
    found = agreement(one, other, top_k=3)
    assert back.tau <= found.tau <= 1.0
    assert 0 <= found.rbo <= 1 + 1e-9
    assert 0 <= found.top3 <= 1


@given(rankings)
def test_tau_and_overlap_are_what_their_definitions_say_and_symmetric(pair):
    one, other = pair
    place = {id_: at for at, id_ in enumerate(other)}
    pairs = list(itertools.combinations(one, 2))
    signs = sum(1 if place[a] < place[b] else -1 for a, b in pairs)
    assert kendall_tau(one, other) == pytest.approx(signs / len(pairs) if pairs else 1.0)
    assert kendall_tau(one, other) == pytest.approx(kendall_tau(other, one))
    assert rank_biased_overlap(one, other) == pytest.approx(rank_biased_overlap(other, one))
    whole = sum(0.9**d * overlap(one, other, d) for d in range(1, len(one) + 1))
    expected = 0.9 ** len(one) + (0.1 / 0.9) * whole
    assert math.isclose(rank_biased_overlap(one, other), expected, rel_tol=1e-9)


@pytest.mark.parametrize(("one", "other"), [((), ()), (("a",), ("b",)), (("a", "b"), ("a",))])
def test_different_memories_cannot_be_compared(one, other):
    with pytest.raises(ValueError, match="same memories"):
        agreement(one, other, top_k=3)
