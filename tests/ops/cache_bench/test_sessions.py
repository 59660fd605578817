"""Sessions: questions in order, each with what was said before it."""

import orjson
import pytest

from memsift_ops.cache_bench.sessions import of_set, own


@pytest.fixture
def folder(tmp_path):
    """Two users, with five and one questions; the file mixes them."""
    memories = [
        {"id": f"{user}{at}", "pool": user, "text": f"Memory {at}.", "created_at": "2026-03-01"}
        for user in "ab"
        for at in range(3)
    ]
    queries = [
        {
            "id": f"q{at}",
            "now": "2026-03-02",
            "query": f"Question {at}?",
            "pool": user,
            "gold": [f"{user}0"],
            "candidates": [f"{user}0", f"{user}1"],
        }
        for at, user in enumerate("aabaaa")
    ]
    for name, rows in (("made.memories", memories), ("made.queries", queries)):
        (tmp_path / f"{name}.jsonl").write_bytes(b"\n".join(map(orjson.dumps, rows)))
    return tmp_path


def test_questions_of_a_user_follow_each_other_and_hold_those_before(folder):
    found = sorted(of_set(folder, "made", turns=3, most=9, seed=1), key=lambda one: one.name)
    assert [[case.id for case in one.cases] for one in found] == [["q0", "q1", "q3"], ["q4", "q5"]]
    assert [turn.text for turn in found[0].cases[2].turns] == ["Question 0?", "Question 1?"]
    assert found[1].cases[0].turns == ()


def test_as_many_sessions_as_are_wanted_and_the_same_each_time(folder):
    one, other = (of_set(folder, "made", turns=2, most=2, seed=7) for _ in range(2))
    assert len(one) == 2
    assert one == other


def test_our_own_are_two_languages_with_labels_and_answers_between():
    english, chinese = sorted(own(), key=lambda one: one.cases[0].lang)
    for session in (english, chinese):
        assert len(session.cases) >= 3
        assert all(case.gold for case in session.cases)
        assert [len(case.turns) for case in session.cases] == [2 * at for at in range(len(session.cases))]
