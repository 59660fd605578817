"""How memories, conversation and question are laid out in the chat prompts.

Everything that stays the same from turn to turn comes first, so that its KV can be reused.
"""

from __future__ import annotations

from memsift_schemas.job import RerankJob
from memsift_schemas.memory import Memory
from memsift_workers.strategies.quoting import quote

# Older turns rarely decide what the question means; each costs tokens that no other session shares.
LAST_TURNS = 8
LAST_EVENTS = 8
TALK = "Conversation:\n"


def memory_line(memory: Memory) -> str:
    """Date, where it is known, and text of a memory, on one line."""
    date = "" if memory.created_at is None else f"[{memory.created_at:%Y-%m-%d}] "
    return f"{date}{quote(memory.text)}"


def talk(job: RerankJob) -> tuple[str, ...]:
    """The conversation before the question, a line each, oldest first."""
    return tuple(f"{turn.role}: {quote(turn.text)}\n" for turn in job.turns)


def latest(job: RerankJob) -> str:
    """What is new in each prompt: events, the day, and the user's latest message."""
    events = "".join(f"(event) {quote(event)}\n" for event in job.activity[-LAST_EVENTS:])
    return f"{events}Today is {job.now:%A, %Y-%m-%d}. Latest message of the user: {quote(job.query)}\n"


def question(job: RerankJob) -> str:
    """The last turns of the conversation and the user's latest message, for prompts about one memory."""
    lines = talk(job)[-LAST_TURNS:]
    before = TALK + "".join(lines) if lines else ""
    return before + latest(job)
