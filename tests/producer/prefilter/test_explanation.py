"""What people are told of a ranking is what made it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_producer.prefilter import explain, prefilter, weights
from memsift_schemas import Kind
from tests.producer.prefilter.test_prefilter import QUERIES, SETTINGS, memories
from tests.samples import NOW, memory


@given(memories, st.sampled_from(QUERIES), st.none() | st.just([0.2, -1.0, 3.0]))
def test_the_parts_of_every_memory_add_up_to_its_score(given, query, embedding):
    told = {"now": NOW, "settings": SETTINGS, "query_embedding": embedding}
    found = prefilter(query, given, keep=len(given) or 1, **told)
    seen = explain(query, given, **told)
    assert [one.id for one in seen] == [one.id for one in given]
    kept = {one.id: one for one in seen if not one.duplicate}
    assert set(kept) == {one.id for one in found.kept}
    for one, score in zip(found.kept, found.scores, strict=True):
        parts = [signal.part for signal in kept[one.id].signals.values() if signal]
        assert sum(parts) == pytest.approx(score, abs=1e-9)
        assert kept[one.id].kind is one.kind


def test_values_are_told_as_they_were_found_and_what_is_missing_is_none():
    given = [
        memory(0, similarity=0.9, text="The key lies under the pot."),
        memory(1, similarity=None, created_at=None, text="Jonas likes window seats."),
        memory(2, similarity=0.1, text="Mara moved to Trieste in January."),
    ]
    first, second, third = explain("Where is the key?", given, now=NOW, settings=SETTINGS)
    assert first.signals["vector"].value == 0.9
    assert first.signals["vector"].part > 0 > third.signals["vector"].part
    assert (second.signals["vector"], second.signals["recency"]) == (None, None)
    assert first.signals["keyword"].value > 0 == second.signals["keyword"].value
    assert 0 < first.signals["recency"].value < 1
    assert second.kind is Kind.PREFERENCE


def test_a_duplicate_is_said_to_be_one():
    text = "Mara keeps a spare key to the cabin under the blue flowerpot."
    older, newer = explain("key?", [memory(1, text=text), memory(0, text=text)], now=NOW, settings=SETTINGS)
    assert (older.duplicate, older.signals) == (True, {})
    assert not newer.duplicate


def test_nothing_is_explained_where_nothing_is():
    assert explain("key?", [], now=NOW, settings=SETTINGS) == []
    assert weights(SETTINGS) == {"vector": 0.6, "recency": 0.05, "keyword": 0.35}
