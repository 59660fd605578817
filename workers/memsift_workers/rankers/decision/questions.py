"""What a decision model is asked: one proposition per memory about one state.

One `noul` question per memory ranks better than one `choice` over all of them (NFCorpus nDCG@10 0.358 against
0.316), and its probability does not depend on the other memories.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from memsift_schemas.job import RerankJob
from memsift_workers.strategies.layout import LAST_TURNS, memory_line
from memsift_workers.strategies.quoting import conversation, quote

BYTES_PER_TOKEN = 3
"""Of UTF-8, at least: a token of a current multilingual tokenizer holds four English letters, or a Chinese
character or more, which has three bytes."""
QUESTION_TOKENS = 60
"""What a server may write around one question: ids, types, options, and its own markup."""

ASKED = "This memory about the user helps to answer the user's latest message"
YES = "it says what the message asks for, or what a good answer must take into account"
NO = "it is about something else"


@dataclass(frozen=True, slots=True)
class Question:
    """A proposition that is true or false.

    Attributes:
        id: unique in a job; holds nothing of the memory's own id.
        text: the proposition, with the memory in it.
    """

    id: str
    text: str = field(repr=False)


def questions(job: RerankJob) -> list[Question]:
    """One per memory, in the job's order. Some servers take only letters, digits and `_` in ids."""
    return [
        Question(f"m{at + 1}", f"{ASKED}. Memory: {memory_line(memory)}")
        for at, memory in enumerate(job.candidates)
    ]


def state(job: RerankJob, *, most_tokens: int) -> str:
    """The question, the day, and as many of the last turns as fit.

    The question comes first: servers cut a state that is too long at its end.
    """
    asked = f"Today is {job.now:%A, %Y-%m-%d}.\nLatest message of the user: {quote(job.query)}\n"
    for last in range(LAST_TURNS, 0, -1):
        talk = conversation(job.turns, job.activity, last=last)
        whole = f"{asked}Conversation before it:\n{talk}" if talk else asked
        if tokens_at_most(whole) <= most_tokens:
            return whole
    return asked


def split(
    asked: Sequence[Question], *, state_tokens: int, most_questions: int, most_tokens: int
) -> Iterator[list[Question]]:
    """Cut into requests that a server takes, in order.

    Args:
        asked: all questions of a job.
        state_tokens: what the state takes in each request.
        most_questions: in one request.
        most_tokens: of state and questions in one request; a question that is too long alone goes alone.
    """
    part: list[Question] = []
    used = state_tokens
    for question in asked:
        needs = QUESTION_TOKENS + tokens_at_most(question.text)
        if part and (len(part) == most_questions or used + needs > most_tokens):
            yield part
            part, used = [], state_tokens
        part.append(question)
        used += needs
    if part:
        yield part


def tokens_at_most(text: str) -> int:
    """How many tokens a text may have; the server's tokenizer is not known here."""
    return -(-len(text.encode()) // BYTES_PER_TOKEN)
