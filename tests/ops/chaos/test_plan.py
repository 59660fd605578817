"""A plan survives the file that carries it, and says how many calls it means."""

import pytest

from memsift_ops.chaos import question
from memsift_ops.chaos.plan import Plan

COMMON = {
    "name": "a0",
    "seed": 1,
    "secret": "暗 s",
    "redis_url": "redis://x",
    "queue": "q",
    "dsn": "http://x/1",
    "folder": "f",
}


@pytest.mark.parametrize(
    ("plan", "calls"),
    [
        (Plan(**COMMON, rates=((10.0, 2.0), (0.5, 3.0))), 21),
        (Plan(**COMMON, callers=4, calls=100, think_s=0.5), 100),
    ],
)
def test_a_plan_comes_back_as_it_was(plan, calls):
    assert Plan.load(plan.dump()) == plan
    assert plan.expected == calls


def test_a_question_names_its_owner_and_its_deadline():
    asked = question.ask("a0-17", secret="planted", candidates=3, deadline_at=1_700_000_000.25)
    assert question.deadline_of(f"...{asked['query']}...") == 1_700_000_000.25
    assert [memory["id"] for memory in asked["memories"]] == ["a0-17.0", "a0-17.1", "a0-17.2"]
    assert all("planted" in text for text in (asked["query"], *(m["text"] for m in asked["memories"])))
    assert asked == question.ask("a0-17", secret="planted", candidates=3, deadline_at=1_700_000_000.25)
    assert question.deadline_of("no question of ours") is None
    assert question.deadline_of(question.ask("a0-1", secret="s", candidates=1)["query"]) is None
