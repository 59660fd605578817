"""mem0: a reranker for `Memory.search(..., rerank=True)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memsift_producer.adapters import fields
from memsift_producer.adapters.base import Adapter, marks
from memsift_producer.adapters.framework import needs
from memsift_producer.documents import Document
from memsift_schemas.job import ANONYMOUS

with needs("mem0"):
    from mem0.configs.rerankers.base import BaseRerankerConfig
    from mem0.reranker.base import BaseReranker
    from mem0.utils.factory import RerankerFactory

PROVIDER = "memsift"
SCORE = "rerank_score"
_TEXTS = ("memory", "text", "content")


class MemsiftRerankerConfig(BaseRerankerConfig, Adapter):  # type: ignore[misc]  # has no types where we lint
    """Options of `Adapter`, beside mem0's own, of which only `top_k` means anything here."""

    # What was edited was learned then; without it `created_at` tells.
    time_key: str = "updated_at"


class MemsiftReranker(BaseReranker):  # type: ignore[misc]
    """mem0's memories for a question, best first.

    Each gets a `rerank_score`, above 0 and below 1, and `memsift_source` (`model`, or `prefilter` with its
    `memsift_cause`). Whose they are is taken from their `user_id`, where all have the same one and the
    options name nobody. Never raises because of the model, the workers or Redis.

    mem0 knows its own rerankers alone. Either give it this one, or make the name known first:

        memory.reranker = MemsiftReranker()

        register()
        memory = Memory.from_config({"reranker": {"provider": "memsift"}, ...})

    Args:
        config: the options, as mem0's factory passes them.
        **options: or one by one.
    """

    def __init__(self, config: MemsiftRerankerConfig | None = None, **options: Any) -> None:
        self.config = config or MemsiftRerankerConfig(**options)

    def rerank(
        self, query: str, documents: list[dict[str, Any]], top_k: int | None = None
    ) -> list[dict[str, Any]]:
        """Rank memories; blocks until the deadline at the latest.

        Args:
            query: the question.
            documents: mem0's memories.
            top_k: how many; None takes the config's, and all of them without one.

        Raises:
            InvalidInput: the question is blank.
        """
        __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
        config = self.config
        given = [self._read(one) for one in documents]
        ranking = config._rank(query, given, top_k or config.top_k, user=_user(config.user, documents))
        added = marks(ranking)
        return [{**documents[place.index], SCORE: place.score, **added} for place in ranking.places]

    def _read(self, one: Mapping[str, Any]) -> Document:
        said = {**(one.get("metadata") or {}), **one}
        said[self.config.time_key] = fields.first(said, self.config.time_key, "created_at")
        text = fields.first(one, *_TEXTS)
        return self.config._document(text, said, id=one.get("id"), similarity=one.get("score"))


def register() -> None:
    """Make `memsift` the name of a reranker in mem0's configuration."""
    RerankerFactory.provider_to_class[PROVIDER] = (
        f"{MemsiftReranker.__module__}.{MemsiftReranker.__qualname__}",
        MemsiftRerankerConfig,
    )


def _user(named: str, documents: Sequence[Mapping[str, Any]]) -> str:
    whose = {fields.identity(one.get("user_id")) for one in documents}
    only = whose.pop() if len(whose) == 1 else None
    return only if only and named == ANONYMOUS else named
