"""Haystack: a ranker component for pipelines."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from memsift_producer.adapters.base import Adapter, marks
from memsift_producer.adapters.framework import needs
from memsift_producer.documents import Document as Given
from memsift_producer.documents import Ranking
from memsift_producer.process import own_reranker
from memsift_producer.reranker import Reranker
from memsift_producer.sync import SyncReranker
from memsift_schemas.errors import InvalidInput

with needs("haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict


@component
class MemsiftRanker:
    """The best documents for a question, best first.

    A document's `score` becomes its place in the ranking, above 0 and below 1; what it was counts as the
    vector store's similarity. Its meta says `memsift_source` (`model`, or `prefilter` with its
    `memsift_cause`). Never raises because of the model, the workers or Redis.

        pipeline.add_component("ranker", MemsiftRanker(top_k=3))

    Args:
        top_k: how many; None for all of them.
        score_threshold: leave out what scores below it.
        reranker: see `Adapter`; is not written by `to_dict`.
        **options: the other fields of `Adapter`.
    """

    def __init__(
        self,
        top_k: int | None = 10,
        score_threshold: float | None = None,
        reranker: Reranker | SyncReranker | None = None,
        **options: Any,
    ) -> None:
        self.top_k = _positive(top_k)
        self.score_threshold = score_threshold
        self._options = options
        self._adapter = Adapter(reranker=reranker, **options)
        component.set_output_types(self, documents=list[Document])

    def warm_up(self) -> None:
        """Connect, so that the first question need not; does nothing where a reranker was given."""
        if self._adapter.reranker is None:
            own_reranker()

    def to_dict(self) -> dict[str, Any]:
        """The component, without a reranker that it was given."""
        written: dict[str, Any] = default_to_dict(
            self, top_k=self.top_k, score_threshold=self.score_threshold, **self._options
        )
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> MemsiftRanker:
        """The component again; it asks the reranker of the process."""
        read: MemsiftRanker = default_from_dict(cls, data)
        return read

    def run(  # noqa: PLR0913  # each is an input that a pipeline may connect
        self,
        query: str,
        documents: list[Document],
        top_k: int | None = None,
        score_threshold: float | None = None,
        *,
        query_embedding: list[float] | None = None,
        user: str | None = None,
        session: str | None = None,
    ) -> dict[str, list[Document]]:
        """Rank documents; blocks until the deadline at the latest.

        Args:
            query: the question.
            documents: what the retriever found.
            top_k: instead of the component's.
            score_threshold: instead of the component's.
            query_embedding: the question's vector, for documents that carry theirs and no score.
            user: instead of the component's.
            session: instead of the component's.

        Raises:
            InvalidInput: an argument is wrong.
        """
        __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
        more = _said(query_embedding=query_embedding, user=user, session=session)
        top = _positive(self.top_k if top_k is None else top_k)
        ranking = self._adapter._rank(query, self._read(documents), top, **more)
        return {"documents": self._given_back(documents, ranking, score_threshold)}

    async def run_async(  # noqa: PLR0913  # Haystack wants those of `run`
        self,
        query: str,
        documents: list[Document],
        top_k: int | None = None,
        score_threshold: float | None = None,
        *,
        query_embedding: list[float] | None = None,
        user: str | None = None,
        session: str | None = None,
    ) -> dict[str, list[Document]]:
        """As `run`, without blocking the event loop; being cancelled withdraws the job."""
        __tracebackhide__ = True
        more = _said(query_embedding=query_embedding, user=user, session=session)
        top = _positive(self.top_k if top_k is None else top_k)
        ranking = await self._adapter._arank(query, self._read(documents), top, **more)
        return {"documents": self._given_back(documents, ranking, score_threshold)}

    def _read(self, documents: Sequence[Document]) -> list[Given]:
        return [
            self._adapter._document(
                one.content, one.meta, id=one.id, similarity=one.score, embedding=one.embedding
            )
            for one in documents
        ]

    def _given_back(
        self, documents: Sequence[Document], ranking: Ranking, threshold: float | None
    ) -> list[Document]:
        least = self.score_threshold if threshold is None else threshold
        added = marks(ranking)
        return [
            dataclasses.replace(
                documents[place.index],
                score=place.score,
                meta={**documents[place.index].meta, **added},
            )
            for place in ranking.places
            if least is None or place.score >= least
        ]


def _positive(top_k: int | None) -> int | None:
    if top_k is not None and top_k < 1:
        raise InvalidInput("top_k: must be above 0")
    return top_k


def _said(**more: Any) -> dict[str, Any]:
    return {name: value for name, value in more.items() if value is not None}
