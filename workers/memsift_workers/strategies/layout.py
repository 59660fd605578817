"""How memories, conversation and question are laid out in the chat prompts.

Everything that stays the same from turn to turn comes first, so that its KV can be reused.
"""

from __future__ import annotations

from memsift_schemas.job import RerankJob
from memsift_schemas.memory import Memory
from memsift_workers.strategies.quoting import conversation, quote

# Older turns rarely decide what the question means; each costs tokens that no other session shares.
LAST_TURNS = 8


def memory_line(memory: Memory) -> str:
    """Date and text of a memory, on one line."""
    return f"[{memory.created_at:%Y-%m-%d}] {quote(memory.text)}"


def question(job: RerankJob) -> str:
    """The conversation and the user's latest message, with the day on which it was asked."""
    talk = conversation(job.turns, job.activity, last=LAST_TURNS)
    before = f"Conversation:\n{talk}" if talk else ""
    return f"{before}Today is {job.now:%A, %Y-%m-%d}. Latest message of the user: {quote(job.query)}\n"
