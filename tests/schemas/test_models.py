"""Every kind of bad input named in the contract has a defined answer, and none repeats the text."""

import math
from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from memsift_schemas import Kind, Memory, RerankJob, RerankResult, Turn
from memsift_schemas.errors import describe
from memsift_schemas.job import MAX_ACTIVITY, MAX_CANDIDATES, MAX_TURNS
from memsift_schemas.memory import MAX_MEMORY_CHARS
from tests.samples import job, memories, memory

SECRET = "xyzzy-secret"


def refusal(build):
    with pytest.raises(ValidationError) as caught:
        build()
    return describe(caught.value), str(caught.value)


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"created_at": datetime(2026, 1, 1)}, "created_at: Input should have timezone info"),
        ({"similarity": math.nan}, "similarity: Input should be a finite number"),
        ({"similarity": math.inf}, "similarity: Input should be a finite number"),
        ({"similarity": -math.inf}, "similarity: Input should be a finite number"),
        ({"embedding": (0.1, math.nan)}, "embedding.1: Input should be a finite number"),
        ({"id": ""}, "id: String should have at least 1 character"),
        ({"id": "a\x00b"}, "id: an id must not hold control characters"),
        ({"id": "a" * 129}, "id: String should have at most 128 characters"),
        ({"text": " \n "}, "a memory's text must not be blank"),
        ({"text": "\x00\x07"}, "a memory's text must not be blank"),
        ({"kind": "mood"}, "kind: Input should be 'time-bound', 'preference', 'fact' or 'unknown'"),
    ],
)
def test_a_bad_memory_is_refused_with_its_place(fields, place):
    told, _ = refusal(lambda: memory(**fields))
    assert place in told


def test_an_unknown_time_is_said_and_a_forgotten_one_is_refused():
    assert memory(created_at=None).created_at is None
    told, _ = refusal(lambda: Memory.model_validate({"id": "a", "text": "b"}))
    assert told == "created_at: Field required"


def test_no_error_repeats_the_text():
    told, shown = refusal(lambda: memory(text=SECRET, created_at=SECRET, similarity=SECRET, kind=SECRET))
    assert SECRET not in told
    assert SECRET not in shown


def test_no_repr_shows_text():
    whole = job(
        query=SECRET,
        turns=(Turn(role="user", text=SECRET),),
        activity=(SECRET,),
        candidates=(memory(text=SECRET),),
        prior=(),
    )
    assert SECRET not in repr(whole)
    assert SECRET not in repr(whole.candidates[0])
    assert SECRET not in repr(whole.turns[0])


def test_surrogates_and_control_characters_in_text_are_replaced():
    assert memory(text="key\ud83dunder\x00pot").text == "key\ufffdunder pot"


def test_long_text_is_cut_at_a_sentence_and_flagged():
    long = "A sentence of some length. " * 100
    shortened = memory(text=long)
    assert shortened.truncated
    assert len(shortened.text) <= MAX_MEMORY_CHARS
    assert shortened.text.endswith(".")
    assert not memory(text="short").truncated


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"candidates": ()}, "candidates: Tuple should have at least 1 item"),
        (
            {"candidates": tuple(memories(MAX_CANDIDATES + 1)), "prior": ()},
            "candidates: Tuple should have at most 200",
        ),
        ({"candidates": (memory(0), memory(0)), "prior": ()}, "candidates: candidate ids must be unique"),
        ({"query": " \t"}, "query: the query must not be blank"),
        ({"query": ""}, "query: the query must not be blank"),
        ({"prior": (1.0,)}, "prior needs one score per candidate"),
        ({"prior": (math.nan,) * 6}, "prior.0: Input should be a finite number"),
        ({"warm": True}, "query: a warm-up has no query"),
        ({"query": " "}, "query: the query must not be blank"),
        ({"deadline": math.inf}, "deadline: Input should be a finite number"),
        ({"deadline": 0}, "deadline: Input should be greater than 0"),
        ({"top_k": 0}, "top_k: Input should be greater than or equal to 1"),
        ({"now": datetime(2026, 1, 1)}, "now: Input should have timezone info"),
    ],
)
def test_a_bad_job_is_refused_with_its_place(fields, place):
    told, _ = refusal(lambda: job(**fields))
    assert place in told


def test_only_the_latest_turns_and_events_are_kept():
    turns = tuple(Turn(role="user", text=f"turn {at}") for at in range(MAX_TURNS + 5))
    events = tuple(f"event {at}" for at in range(MAX_ACTIVITY + 5))
    kept = job(turns=turns, activity=events)
    assert kept.turns == turns[5:]
    assert kept.activity == events[5:]


def test_models_are_frozen_and_ignore_new_fields():
    known = Memory.model_validate({"id": "a", "text": "b", "created_at": datetime.now(UTC), "mood": "new"})
    assert known.kind is Kind.UNKNOWN
    with pytest.raises(ValidationError):
        known.id = "c"


def test_a_result_refuses_scores_that_are_no_numbers():
    told, _ = refusal(
        lambda: RerankResult(job_id="j", ranking=({"id": "a", "score": math.nan},), source="model")
    )
    assert "ranking.0.score" in told
    assert RerankJob.model_fields["query"].repr is False
