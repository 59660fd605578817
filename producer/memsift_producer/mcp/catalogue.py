"""The tools as agents see them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from memsift_producer.mcp import tools
from memsift_producer.mcp.forms import Arguments, Explanation, Reranked, ToExplain, ToRerank
from memsift_producer.mcp.tools import Desk

INSTRUCTIONS = (
    "memsift chooses which of a user's old memories belong into the prompt: call rerank_memories with the "
    "question and all that recall found, and put what comes back into the prompt. An answer always comes, "
    "within the deadline; `source` says whether the model or the prefilter gave it. When a choice looks odd, "
    "explain_ranking tells of each memory why it came in or stayed out. Nothing is stored."
)
_RERANK = (
    "Choose the memories that help to answer a question, out of all that recall found (usually 20 to 100). "
    "Returns the best `top_k`, best first, with their texts; no near-duplicates, and fewer or none where "
    "memories are known to be irrelevant. Times count: pass each memory's `created_at`, and `now` with the "
    "user's time zone, for questions such as 'what is on today?'. Takes 0.4 s at most unless `deadline_ms` "
    "says otherwise, and never fails because a model is away: then `source` is `prefilter`."
)
_EXPLAIN = (
    "Rank memories as rerank_memories does, and tell of every one why it came in or stayed out: signals of "
    "the prefilter (similarity, recency, keywords), duplicates, the model's score and place. For finding out "
    "why an assistant forgot something or brought up the wrong thing. The ranking is a fresh one, nothing is "
    "looked up. Memories are told by `id`, not by text."
)


@dataclass(frozen=True, slots=True)
class Known:
    """A tool.

    Attributes:
        title: for people.
        description: for agents.
        takes: its arguments.
        gives: its structured result.
        work: what it does.
    """

    title: str
    description: str
    takes: type[Arguments]
    gives: type[BaseModel]
    work: Callable[[Any, Desk], Awaitable[BaseModel]]


TOOLS = {
    "rerank_memories": Known(
        "Choose memories for a prompt", _RERANK, ToRerank, Reranked, tools.rerank_memories
    ),
    "explain_ranking": Known(
        "Explain a ranking of memories", _EXPLAIN, ToExplain, Explanation, tools.explain_ranking
    ),
}
