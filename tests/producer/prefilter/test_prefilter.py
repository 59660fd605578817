"""The prefilter's promises, whatever comes in."""

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_producer.prefilter import prefilter
from memsift_schemas import Kind
from memsift_schemas.settings import ProducerSettings
from tests.samples import NOW, TEXTS, memory

SETTINGS = ProducerSettings(weight_vector=0.6, weight_recency=0.05, weight_keyword=0.35, half_life_days=90)
MORE_TEXTS = (
    "周三到上海出差，住在外滩边的酒店。",
    "小李对花生过敏。",
    "我喜欢靠窗的座位",
    "…",
    "The spare key is for the cabin's back door",
)
QUERIES = ("Where is the key to the cabin?", "我周三住哪？", "What was it?", "😀")

memories = st.lists(
    st.builds(
        lambda text, hours, similarity, embedding: {
            "text": text,
            "created_at": NOW - timedelta(hours=hours),
            "similarity": similarity,
            "embedding": embedding,
        },
        st.sampled_from(TEXTS + MORE_TEXTS) | st.text().map(lambda text: f"{text}."),
        st.integers(-100, 100_000),
        st.none() | st.floats(allow_nan=False, allow_infinity=False),
        st.none() | st.tuples(*[st.floats(-1e300, 1e300)] * 3),
    ),
    max_size=40,
).map(lambda items: [memory(at, **fields) for at, fields in enumerate(items)])


def ranked(given, query=QUERIES[0], settings=SETTINGS, keep=20, **more):
    return prefilter(query, given, now=NOW, settings=settings, keep=keep, **more)


def ids(found):
    return [kept.id for kept in found.kept]


@given(memories, st.sampled_from(QUERIES), st.integers(1, 50), st.none() | st.just([0.2, -1.0, 3.0]))
def test_every_memory_is_kept_or_pruned_once_and_scores_fall(given, query, keep, embedding):
    found = ranked(given, query, keep=keep, query_embedding=embedding)
    assert sorted([*ids(found), *found.pruned]) == sorted(m.id for m in given)
    assert len(found.kept) == len(found.scores) <= keep
    assert bool(found.kept) == bool(given)
    assert np.isfinite(found.scores).all()
    assert list(found.scores) == sorted(found.scores, reverse=True)
    assert Kind.UNKNOWN not in {kept.kind for kept in found.kept}


def distinct(count):
    """Memories that are no duplicates and of which no two score the same."""
    return [
        memory(at, text=f"{TEXTS[at % len(TEXTS)]} Note {at}.", similarity=0.9 - (at * 7 % count) / 100)
        for at in range(count)
    ]


@given(st.permutations(range(30)))
def test_the_order_of_the_input_does_not_matter(order):
    given = distinct(30)
    expected, found = ranked(given), ranked([given[at] for at in order])
    assert ids(found) == ids(expected)
    assert found.pruned == expected.pruned
    assert found.scores == pytest.approx(expected.scores)


@given(st.floats(1e-3, 1e3), st.floats(-10, 10))
def test_the_scale_of_the_similarities_does_not_matter(scale, offset):
    given = distinct(30)
    scaled = [m.model_copy(update={"similarity": m.similarity * scale + offset}) for m in given]
    expected, found = ranked(given), ranked(scaled)
    assert ids(found) == ids(expected)
    assert found.scores == pytest.approx(expected.scores, abs=1e-6)


def test_twice_the_same_is_the_same():
    assert ranked(distinct(50)) == ranked(distinct(50))


def test_low_scores_are_pruned_best_first_and_duplicates_last():
    # Given two copies of an old memory beside others
    given = [*distinct(6), memory(90, text=TEXTS[0], similarity=0.99), memory(80, text=TEXTS[0])]
    # When only the best two may stay
    found = ranked(given, keep=2)
    everything = ranked(given)
    # Then
    assert [*ids(found), *found.pruned] == [*ids(everything), *everything.pruned]
    assert found.pruned[-1] == "m90"
    assert everything.pruned == ("m90",)


def test_ties_keep_the_order_given():
    texts = ["red", "green", "blue", "black", "white", "brown", "pink"]
    given = [memory(at, text=text, created_at=NOW, similarity=None) for at, text in enumerate(texts)]
    assert ids(ranked(given, "What is it?")) == [m.id for m in given]
    assert ids(ranked(given[::-1], "What is it?")) == [m.id for m in given[::-1]]


@pytest.mark.parametrize(
    ("query", "best"), [("Which hall does Mara climb in?", "m1"), ("What was it?", "m0"), ("榛子过敏", "m0")]
)
def test_without_similarities_keywords_decide_and_then_recency(query, best):
    given = [memory(at, similarity=None) for at in range(6)]
    assert ids(ranked(given, query))[0] == best


def test_of_two_facts_that_fit_as_well_the_newer_comes_first():
    old = memory(40, text="Mara lives in Graz", similarity=0.8)
    new = memory(3, text="Mara lives in Trieste", similarity=0.8)
    others = [memory(at, similarity=0.5) for at in (10, 11, 12)]
    assert ids(ranked([old, *others, new], "Where does Mara live?"))[:2] == ["m3", "m40"]


def test_a_memory_without_similarity_can_still_win_by_its_words():
    given = [*distinct(6), memory(50, text="The spare key hangs at Lena's", similarity=None)]
    assert ids(ranked(given, "Who is Lena?"))[0] == "m50"


def test_the_query_embedding_ranks_by_cosine():
    vectors = [(0.1, 1.0), (1.0, 0.1), (0.7, 0.7)]
    given = [memory(at, similarity=None, embedding=v, created_at=NOW) for at, v in enumerate(vectors)]
    assert ids(ranked(given, "What was it?", query_embedding=[2.0, 0.0])) == ["m1", "m2", "m0"]


@pytest.mark.parametrize("weights", [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_weights_choose_the_signal(weights):
    # Given three memories, each best by another signal
    given = [
        memory(0, text="Lena paints", similarity=0.9, created_at=NOW - timedelta(days=50)),
        memory(1, text="Lena sings", similarity=0.2, created_at=NOW - timedelta(days=1)),
        memory(2, text="The kayak is green", similarity=0.3, created_at=NOW - timedelta(days=40)),
    ]
    settings = ProducerSettings(
        **dict(zip(("weight_vector", "weight_recency", "weight_keyword"), weights, strict=True))
    )
    assert ids(ranked(given, "the kayak", settings))[0] == f"m{weights.index(1)}"


def test_one_memory_is_kept_and_none_is_fine():
    assert ids(ranked([memory()])) == ["m0"]
    assert ranked([]).kept == ranked([]).pruned == ()


def test_no_text_in_its_repr():
    assert "cabin" not in repr(ranked(distinct(6)))
