"""Memories and jobs of our own for tests."""

import uuid
from datetime import UTC, datetime, timedelta

from memsift_schemas import Memory, RerankJob

NOW = datetime(2026, 3, 18, 9, 0, tzinfo=UTC)

TEXTS = (
    "Mara keeps a spare key to the cabin under the blue flowerpot.",
    "On Friday Mara meets Jonas at the climbing hall at seven.",
    "Mara is allergic to hazelnuts and always asks before dessert.",
    "Jonas moved from Graz to Trieste in January for a new job.",
    "Mara prefers window seats on night trains.",
    "The cabin's water is turned off from November to March.",
)


def memory(at=0, **fields):
    defaults = {
        "id": f"m{at}",
        "text": TEXTS[at % len(TEXTS)],
        "created_at": NOW - timedelta(days=at + 1),
        "similarity": 0.8 - at / 100,
    }
    return Memory(**{**defaults, **fields})


def memories(count=6):
    return [memory(at, text=f"{TEXTS[at % len(TEXTS)]} Note {at}.") for at in range(count)]


def job(count=6, **fields):
    defaults = {
        "id": uuid.uuid4().hex,
        "user": "mara",
        "session": "s1",
        "query": "Where is the spare key to the cabin?",
        "now": NOW,
        "candidates": tuple(memories(count)),
        "prior": tuple(float(count - at) for at in range(count)),
        "deadline": NOW.timestamp() + 10,
        "sent_at": NOW.timestamp(),
    }
    return RerankJob(**{**defaults, **fields})
