"""LlamaIndex: a node postprocessor, for `node_postprocessors=[...]` of a query engine."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from memsift_producer.adapters.base import CAUSE, SOURCE, Adapter, marks
from memsift_producer.adapters.framework import needs
from memsift_producer.documents import Document, Ranking
from memsift_schemas.errors import InvalidInput

with needs("llama-index"):
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle


class MemsiftPostprocessor(BaseNodePostprocessor, Adapter):  # type: ignore[misc]  # has no types where we lint
    """The best nodes for a question, best first.

    A node's `score` becomes its place in the ranking, above 0 and below 1; what it was counts as the vector
    store's similarity. Its metadata says `memsift_source` (`model`, or `prefilter` with its `memsift_cause`),
    which the prompt does not show. Nodes are copied, never changed. Never raises because of the model, the
    workers or Redis.

        best = MemsiftPostprocessor(top_n=3)
        engine = index.as_query_engine(similarity_top_k=50, node_postprocessors=[best])

    Attributes:
        top_n: how many; None for all of them.
    """

    top_n: int | None = Field(default=3, ge=1)

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex stores it."""
        return "MemsiftPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
        asked = _asked(query_bundle)
        ranking = self._rank(
            asked.query_str, self._read(nodes), self.top_n, query_embedding=asked.embedding or None
        )
        return _given_back(nodes, ranking)

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        __tracebackhide__ = True
        asked = _asked(query_bundle)
        ranking = await self._arank(
            asked.query_str, self._read(nodes), self.top_n, query_embedding=asked.embedding or None
        )
        return _given_back(nodes, ranking)

    def _read(self, nodes: Sequence[NodeWithScore]) -> list[Document]:
        return [
            self._document(
                one.node.get_content(metadata_mode=MetadataMode.NONE),
                one.node.metadata,
                id=one.node.node_id,
                similarity=one.score,
                embedding=one.node.embedding,
            )
            for one in nodes
        ]


def _asked(query_bundle: QueryBundle | None) -> QueryBundle:
    if query_bundle is None:
        raise InvalidInput("query_bundle: there is no question to rank for: pass query_bundle or query_str")
    return query_bundle


def _given_back(nodes: Sequence[NodeWithScore], ranking: Ranking) -> list[NodeWithScore]:
    added = marks(ranking)
    return [
        NodeWithScore(node=_marked(nodes[place.index].node, added), score=place.score)
        for place in ranking.places
    ]


def _marked(node: BaseNode, added: dict[str, str | None]) -> BaseNode:
    ours = (SOURCE, CAUSE)
    return node.model_copy(
        update={
            "metadata": {**node.metadata, **added},
            "excluded_llm_metadata_keys": [*{*node.excluded_llm_metadata_keys, *ours}],
            "excluded_embed_metadata_keys": [*{*node.excluded_embed_metadata_keys, *ours}],
        }
    )
