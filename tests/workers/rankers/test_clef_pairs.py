"""What the cross-encoder reads never exceeds what it may."""

from hypothesis import given
from hypothesis import strategies as st

from memsift_schemas import Turn
from memsift_workers.rankers.clef.dialects import shape
from memsift_workers.rankers.clef.pairs import document_texts, query_text, split
from tests.samples import job, memory

prose = st.text(alphabet="ab 。.!?\n<[]>钥匙", min_size=1, max_size=400).filter(str.strip)


@given(st.lists(prose, min_size=1, max_size=5), prose, st.lists(prose, max_size=4), st.integers(200, 500))
def test_a_pair_is_never_too_long_and_every_memory_is_there(texts, query, talk, most):
    turns = tuple(Turn(role="user", text=text) for text in talk)
    whole = job(
        query=query, turns=turns, prior=(), candidates=tuple(memory(at, text=t) for at, t in enumerate(texts))
    )
    asked = query_text(whole, turns=3, most=most // 2)
    documents = document_texts(whole, most=most - len(asked))
    assert len(documents) == len(texts)
    assert all(len(asked) + len(document) <= most for document in documents)
    assert all(document.startswith("[2026-03-") for document in documents)
    assert all("<" not in text and "\n" not in text for text in documents)
    assert "<" not in asked


@given(st.lists(st.text(max_size=3), min_size=1, max_size=200), st.integers(1, 200))
def test_parts_hold_each_text_once_in_order_and_are_even(texts, most):
    parts = split(texts, most)
    assert [text for part in parts for text in part] == texts
    assert len(parts) <= -(-len(texts) // most)
    assert max(map(len, parts)) <= most


def test_turns_give_way_to_the_question_oldest_first():
    turns = tuple(Turn(role="user", text=f"{name} " * 20) for name in ("old", "new"))
    whole = job(query="Where is it?", turns=turns)
    assert query_text(whole, turns=2, most=120).count("old") == 0
    assert query_text(whole, turns=2, most=120).count("new") == 20
    assert query_text(whole, turns=0, most=120) == "Where is it?"


def test_the_shape_of_an_answer_holds_none_of_its_words():
    told = {"results": [{"index": 0, "the secret": "a secret"}], "secret" * 9: None}
    assert shape(told) == "an object with results, ?"
    assert shape(told["results"]) == "a list of 1, the first an object with index, ?"
    assert [shape(one) for one in ([], {}, "secret", None, 1.5, True)] == [
        "an empty list",
        "an object with nothing",
        "a text",
        "null",
        "a float",
        "a bool",
    ]
