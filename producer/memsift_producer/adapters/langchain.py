"""LangChain: a document compressor, for `ContextualCompressionRetriever` or a chain of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from memsift_producer.adapters.base import Adapter, marks
from memsift_producer.adapters.framework import needs
from memsift_producer.documents import Document as Given
from memsift_producer.documents import Ranking

with needs("langchain"):
    from langchain_core.documents import BaseDocumentCompressor, Document

# LangChain's own rerankers write it there.
SCORE = "relevance_score"


class MemsiftCompressor(BaseDocumentCompressor, Adapter):  # type: ignore[misc]  # has no types where we lint
    """The best documents for a question, best first.

    Their metadata says `relevance_score`, above 0 and below 1, and `memsift_source` (`model`, or `prefilter`
    with its `memsift_cause`). Never raises because of the model, the workers or Redis.

        compressor = MemsiftCompressor(top_n=3)
        retriever = ContextualCompressionRetriever(base_compressor=compressor, base_retriever=recall)
        of_this_user = compressor.model_copy(update={"user": "u1", "session": "s1"})

    Attributes:
        top_n: how many; None for all of them.
    """

    top_n: int | None = Field(default=3, ge=1)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> list[Document]:
        """Rank documents; blocks until the deadline at the latest.

        Args:
            documents: what recall found.
            query: the question.
            callbacks: not called.

        Raises:
            InvalidInput: the question is blank.
        """
        __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
        return _given_back(documents, self._rank(query, self._read(documents), self.top_n))

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> list[Document]:
        """As `compress_documents`, without blocking the event loop; being cancelled withdraws the job."""
        __tracebackhide__ = True
        return _given_back(documents, await self._arank(query, self._read(documents), self.top_n))

    def _read(self, documents: Sequence[Document]) -> list[Given]:
        return [self._document(one.page_content, one.metadata, id=one.id) for one in documents]


def _given_back(documents: Sequence[Document], ranking: Ranking) -> list[Document]:
    added = marks(ranking)
    return [
        documents[place.index].model_copy(
            update={"metadata": {**documents[place.index].metadata, SCORE: place.score, **added}}
        )
        for place in ranking.places
    ]
