"""For code without a framework: texts, mappings or memories in, the same objects out, best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from memsift_producer.adapters.base import Adapter
from memsift_producer.documents import Document, Ranking
from memsift_schemas.errors import InvalidInput
from memsift_schemas.memory import Memory
from memsift_schemas.result import Cause, Source

D = TypeVar("D", bound="str | Mapping[str, Any] | Memory")


@dataclass(frozen=True, slots=True)
class RankedDocument(Generic[D]):
    """A document in its place.

    Attributes:
        document: the object that was given.
        index: its position there.
        score: above 0 and below 1, falling along the ranking.
        source: who made the ranking.
        cause: why the prefilter did.
    """

    document: D = field(repr=False)
    index: int
    score: float
    source: Source
    cause: Cause | None


def rerank(
    query: str,
    documents: Sequence[D],
    *,
    top_n: int | None = None,
    text_key: str = "text",
    about: Mapping[str, Any] | None = None,
    **options: Any,
) -> list[RankedDocument[D]]:
    """The best documents for a question, best first; blocks until the deadline at the latest.

    Args:
        query: the question.
        documents: texts; mappings with a text and, where known, `id`, `created_at`, `kind`, `similarity` and
            `embedding`; or memories.
        top_n: how many; None for all of them.
        text_key: where a mapping has its text.
        about: what else is known of the question: `turns`, `activity`, `now`, `query_embedding`, as of
            `Reranker.rerank`.
        **options: fields of `Adapter`: `reranker`, `user`, `session`, `deadline`, `min_relevance`, ...

    Raises:
        InvalidInput: an argument is wrong. Operational faults never raise.
    """
    __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
    adapter = Adapter(**options)
    given = _read(adapter, documents, text_key)
    return _given_back(documents, adapter._rank(query, given, top_n, **about or {}))


async def rerank_async(
    query: str,
    documents: Sequence[D],
    *,
    top_n: int | None = None,
    text_key: str = "text",
    about: Mapping[str, Any] | None = None,
    **options: Any,
) -> list[RankedDocument[D]]:
    """As `rerank`, without blocking the event loop; being cancelled withdraws the job."""
    __tracebackhide__ = True
    adapter = Adapter(**options)
    given = _read(adapter, documents, text_key)
    return _given_back(documents, await adapter._arank(query, given, top_n, **about or {}))


def _read(adapter: Adapter, documents: Sequence[D], text_key: str) -> list[Document]:
    __tracebackhide__ = True
    return [_document(adapter, one, f"documents.{at}", text_key) for at, one in enumerate(documents)]


def _document(adapter: Adapter, one: Any, place: str, text_key: str) -> Document:
    __tracebackhide__ = True
    if isinstance(one, str):
        return {"text": one}
    if isinstance(one, Memory):
        return dict(one)
    if not isinstance(one, Mapping):
        raise InvalidInput(f"{place}: must be a string, a mapping or a Memory")
    if not isinstance(one.get(text_key), str):
        raise InvalidInput(f"{place}: has no text under {text_key!r}: see `text_key`")
    return adapter._document(one[text_key], one, id=one.get("id"), embedding=one.get("embedding"))


def _given_back(documents: Sequence[D], ranking: Ranking) -> list[RankedDocument[D]]:
    result = ranking.result
    return [
        RankedDocument(documents[place.index], place.index, place.score, result.source, result.cause)
        for place in ranking.places
    ]
