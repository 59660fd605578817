"""Mutants: seeded, spoiled, and never so many good ones that they prove nothing."""

import random

from memsift_ops.chaos.mutate import mutants
from memsift_schemas import message, wire
from memsift_schemas.errors import InvalidInput


def still_good(raw):
    try:
        wire.load_job({**message.read(raw).job})
    except (InvalidInput, TypeError):
        return False
    return True


def test_most_are_no_jobs_any_more():
    made = mutants(random.Random(1), 400, queue="q", secret="s")
    assert sum(still_good(raw) for raw in made) < 200


def test_the_same_seed_spoils_the_same(monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1_700_000_000.0)
    first, second = (mutants(random.Random(5), 50, queue="q", secret="s") for _ in range(2))
    assert first == second
    assert len(set(first)) > 45
