"""The two conversations of `memsift demo` are what their readers are told they are."""

import pytest

from memsift_ops import scene
from memsift_schemas import wire
from memsift_schemas.job import RerankJob


@pytest.fixture(params=scene.NAMES)
def played(request):
    return scene.load(request.param)


def test_every_question_recalls_fifty_memories_with_what_is_relevant_among_them(played):
    assert 3 <= len(played.turns) <= 4
    for question in played.turns:
        recalled = played.recalled(question)
        assert len(recalled) == 50
        assert question.relevant <= {memory.id for memory in recalled}
        assert all(0.75 <= memory.similarity <= 0.95 for memory in recalled)
        assert list(question.similarity) == sorted(question.similarity, reverse=True)


def test_recall_differs_a_little_from_turn_to_turn(played):
    for before, after in zip(played.turns, played.turns[1:], strict=False):
        shared = len({*before.candidates} & {*after.candidates})
        assert 40 <= shared < 50


def test_no_memory_is_from_after_the_first_question(played):
    assert max(memory.created_at for memory in played.memories) < played.turns[0].now
    times = [question.now for question in played.turns]
    assert times == sorted(times)


def test_the_conversation_grows_by_question_and_answer(played):
    assert played.conversation(0) == []
    said = played.conversation(2)
    assert [turn.role for turn in said] == ["user", "assistant"] * 2
    assert said[0].text == played.turns[0].query
    assert all(question.answer for question in played.turns[:-1])


def test_memories_have_production_lengths(played):
    for memory in played.memories:
        if played.lang == "zh":
            assert 20 <= len(memory.text) <= 80
        else:
            assert 10 <= len(memory.text.split()) <= 60


def test_a_whole_recall_fits_in_a_job(played):
    last = played.turns[-1]
    job = RerankJob(
        id="x",
        query=last.query,
        now=last.now,
        turns=tuple(played.conversation(len(played.turns) - 1)),
        candidates=tuple(played.recalled(last)),
        deadline=1.0,
    )
    assert wire.load_job(wire.dump_job(job)) == job
