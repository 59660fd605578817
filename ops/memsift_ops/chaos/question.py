"""What a chaos caller asks: texts with the secret in them, ids that name their owner."""

from __future__ import annotations

import math
import random
import re
from datetime import UTC, datetime, timedelta
from typing import Any

WORDS = re.findall(
    r"\w+",
    "anchor bakery cello dentist easel ferry garden harbour iris jacket kettle lantern museum notebook "
    "orchard piano quilt river saddle tunnel umbrella violin window yoghurt zebra almond bridge candle "
    "desert engine forest glacier hammer island jungle ladder meadow needle ocean pepper",
)
NOW = datetime(2026, 3, 18, 9, 0, tzinfo=UTC)
# A prompt with these words ends the fake model's process, as one that trips a bug ends a real one.
DEADLY = "words that no runtime survives"
_UNTIL = re.compile(r"until (\d+\.\d{3})")


def ask(
    call: str, *, secret: str, candidates: int, deadline_at: float = math.inf, mark: str = ""
) -> dict[str, Any]:
    """The arguments of one `rerank()` call.

    The question says until when somebody waits for it, so that the fake model can tell what it does in vain.

    Args:
        call: its id; each memory's id is `<call>.<place>`.
        secret: stands in the question and in every memory.
        candidates: how many memories.
        deadline_at: unix seconds; infinite for a question that names none.
        mark: stands in the question too.
    """
    chosen = random.Random(call)
    return {
        "query": f"{secret} {call} until {deadline_at:.3f} {mark} what about the {chosen.choice(WORDS)}?",
        "memories": [
            {
                "id": f"{call}.{at}",
                "text": f"{secret} {call} {' '.join(chosen.sample(WORDS, 8))}.",
                "created_at": NOW - timedelta(days=at),
                "similarity": chosen.random(),
            }
            for at in range(candidates)
        ],
        "now": NOW,
        "user": f"user{chosen.randrange(1000)}",
        "session": f"session{chosen.randrange(10)}",
    }


def deadline_of(prompt: str) -> float | None:
    """The deadline that a prompt's question names, unix seconds; None for a prompt that is not ours."""
    found = _UNTIL.search(prompt)
    return float(found[1]) if found else None
