"""What a cross-encoder reads: the question, and one line per memory."""

from __future__ import annotations

from memsift_schemas.job import RerankJob
from memsift_schemas.text import cut
from memsift_workers.strategies.layout import memory_line
from memsift_workers.strategies.quoting import conversation, quote


def query_text(job: RerankJob, *, turns: int, most: int) -> str:
    """The question, after as many of the last turns as there is room for.

    Args:
        job: the job.
        turns: how many turns at most; 0 for the question alone.
        most: characters; a longer question is cut, turns give way to it whole, oldest first.
    """
    text, _ = cut(quote(job.query), most)
    for turn in reversed(job.turns[-turns:] if turns else ()):
        longer = conversation((turn,), (), last=1) + text
        if len(longer) > most:
            break
        text = longer
    return text


def document_texts(job: RerankJob, *, most: int) -> list[str]:
    """Date and text of every memory, each cut to `most` characters."""
    return [cut(memory_line(memory), most)[0] for memory in job.candidates]


def split(texts: list[str], most: int) -> list[list[str]]:
    """As few parts as needed of at most `most` texts, all of about the same size, in order."""
    parts = -(-len(texts) // most)
    size = -(-len(texts) // parts)
    return [texts[at : at + size] for at in range(0, len(texts), size)]
