"""The file of `memsift rank`: every kind of bad input gets its defined answer, without any text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_ops import request

SECRET = "the spare key is under the flowerpot"
GOOD = {"id": "a", "text": SECRET, "created_at": "2026-03-02T09:30:00+08:00"}
ASK = {"query": "where?", "memories": [GOOD]}


def read(**changes):
    return request.read(json.dumps({**ASK, **changes}).encode())


def faults(raw):
    with pytest.raises(request.BadRequest) as caught:
        request.read(raw if isinstance(raw, bytes) else json.dumps(raw).encode())
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    return [(fault.place, fault.problem) for fault in caught.value.faults]


def memory_faults(*memories):
    return faults({**ASK, "memories": list(memories)})


def test_all_fields_arrive():
    job = read(
        turns=[{"role": "user", "text": "hi"}],
        activity=["opened the calendar"],
        user="u",
        session="s",
        top_k=5,
        now="2026-03-11T07:40:00+08:00",
    )
    assert (job.query, job.user, job.session, job.top_k) == ("where?", "u", "s", 5)
    assert (job.turns[0].text, job.activity) == ("hi", ("opened the calendar",))
    assert job.now.isoformat() == "2026-03-11T07:40:00+08:00"
    assert job.candidates[0].text == SECRET


def test_what_is_left_out_or_null_takes_its_default():
    for job in (read(), read(now=None, top_k=None)):
        assert job.top_k == 3
        assert job.now.tzinfo is not None


def test_surrogates_and_control_characters_in_text_are_replaced():
    job = read(query="a\ud800b", memories=[{**GOOD, "text": "x\x07y\udfff"}])
    assert (job.query, job.candidates[0].text) == ("a\ufffdb", "x y\ufffd")


def test_a_long_memory_is_cut_and_flagged():
    (memory,) = read(memories=[{**GOOD, "text": "One sentence. " * 200}]).candidates
    assert memory.truncated
    assert len(memory.text) <= 2000


@pytest.mark.parametrize(
    ("changes", "place", "problem"),
    [
        ({"created_at": "2026-03-02T09:30:00"}, "created_at", "has no time zone"),
        ({"created_at": "2026-03-02"}, "created_at", "has no time zone"),
        ({"created_at": "yesterday"}, "created_at", "is no time"),
        ({"created_at": [1]}, "created_at", "is no time"),
        ({"similarity": float("nan")}, "similarity", "is NaN or infinite"),
        ({"similarity": float("inf")}, "similarity", "is NaN or infinite"),
        ({"similarity": float("-inf")}, "similarity", "is NaN or infinite"),
        ({"embedding": [0.0, float("nan")]}, "embedding.1", "is NaN or infinite"),
        ({"id": "a\x00"}, "id", "an id must not hold control characters, lone surrogates or outer spaces"),
        ({"id": "\ud800"}, "id", "holds a lone surrogate"),
        ({"id": ""}, "id", "is empty"),
        ({"text": 7}, "text", "is no text"),
    ],
)
def test_a_bad_memory_is_named_by_its_index(changes, place, problem):
    other = {**GOOD, "id": "other"}
    assert memory_faults(other, {**GOOD, **changes}) == [(f"memories.1.{place}", problem)]


@pytest.mark.parametrize("text", ["", " \n", "\x00\x07"])
def test_a_memory_without_text_is_named(text):
    assert memory_faults({**GOOD, "text": text}) == [("memories.0", "a memory's text must not be blank")]


def test_missing_fields_are_named():
    assert memory_faults({}) == [
        ("memories.0.created_at", "is missing"),
        ("memories.0.id", "is missing"),
        ("memories.0.text", "is missing"),
    ]


def test_repeated_ids_are_named_with_the_first_use_even_beside_other_faults():
    assert memory_faults(GOOD, {**GOOD, "similarity": float("nan")}) == [
        ("memories.1.id", "the same id as memories.0"),
        ("memories.1.similarity", "is NaN or infinite"),
    ]
    assert memory_faults(GOOD, GOOD) == [("memories.1.id", "the same id as memories.0")]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"query": "  "}, ("query", "the query must not be blank")),
        ({"query": ""}, ("query", "the query must not be blank")),
        ({"memories": []}, ("memories", "holds none")),
        ({"memories": {}}, ("memories", "is no list")),
        ({"memories": [7]}, ("memories.0", "is no object")),
        ({"now": "2026-03-11T07:40:00"}, ("now", "has no time zone")),
        ({"top_k": 0}, ("top_k", "input should be greater than or equal to 1")),
        (
            {"turns": [{"role": "system", "text": SECRET}]},
            ("turns.0.role", "input should be 'user' or 'assistant'"),
        ),
    ],
)
def test_a_bad_question_is_named(changes, expected):
    assert faults({**ASK, **changes}) == [expected]


def test_more_memories_than_the_limit():
    too_many = [{**GOOD, "id": str(at)} for at in range(201)]
    assert memory_faults(*too_many) == [("memories", "holds more than 200")]


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "is not JSON (line 1 column 1: Expecting value)"),
        (b'{"query":', "is not JSON (line 1 column 10: Expecting value)"),
        (b"\xff\xfe\xfd", "is not UTF-8"),
        (b"[" * 100_000, "is nested too deeply"),
        (b"[]", "must hold one JSON object"),
    ],
)
def test_what_is_no_json_object(raw, problem):
    assert faults(raw) == [("file", problem)]


def test_faults_are_in_the_order_of_the_memories():
    naive = [{**GOOD, "id": str(at), "created_at": "2026-03-02T09:30:00"} for at in range(12)]
    assert [place for place, _ in memory_faults(*naive)] == [f"memories.{at}.created_at" for at in range(12)]


def test_every_fault_has_one_line_that_ends_in_a_remedy():
    with pytest.raises(request.BadRequest) as caught:
        read(memories=[{**GOOD, "created_at": "2026-03-02T09:30:00"}])
    (fault,) = caught.value.faults
    said = "memories.0.created_at: has no time zone; add it, as in 2026-03-02T09:30:00+08:00"
    assert str(fault) == said


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys([*ASK, "turns", "now", "top_k", "user"], JSON)))
def test_whatever_is_in_the_file_only_a_bad_request_comes_of_it(data):
    try:
        job = request.read(json.dumps(data).encode())
    except request.BadRequest as error:
        assert error.faults
        assert all("\n" not in str(fault) for fault in error.faults)
    else:
        assert job.candidates
