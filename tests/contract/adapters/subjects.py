"""Each adapter behind one face, so that the contract can ask all of them alike."""

import importlib.util
from dataclasses import dataclass
from typing import Any

SCORE_FIELDS = ("memsift_source", "memsift_cause")


@dataclass(frozen=True)
class Back:
    """A document that came back: what the contract looks at, and the framework's own object."""

    text: str
    id: str
    score: float
    source: str
    cause: str | None
    whole: Any


class Plain:
    name = "plain"
    needs = "memsift_producer"

    def adapter(self, top=None, **options):
        return {"top_n": top, **options}

    def documents(self, texts, **fields):
        return [{"id": f"d{at}", "text": text, **fields} for at, text in enumerate(texts)]

    def ask(self, adapter, query, documents):
        from memsift_producer.adapters.plain import rerank

        return [self.back(one) for one in rerank(query, documents, **adapter)]

    async def ask_async(self, adapter, query, documents):
        from memsift_producer.adapters.plain import rerank_async

        return [self.back(one) for one in await rerank_async(query, documents, **adapter)]

    @staticmethod
    def back(one):
        found = one.document
        cause = one.cause and one.cause.value
        return Back(found["text"], found["id"], one.score, one.source.value, cause, found)


class LangChain:
    name = "langchain"
    needs = "langchain_core"

    def adapter(self, top=None, **options):
        from memsift_producer.adapters.langchain import MemsiftCompressor

        return MemsiftCompressor(top_n=top, **options)

    def documents(self, texts, **fields):
        from langchain_core.documents import Document

        return [
            Document(page_content=text, id=f"d{at}", metadata={"mine": at, **fields})
            for at, text in enumerate(texts)
        ]

    def ask(self, adapter, query, documents):
        return [self.back(one) for one in adapter.compress_documents(documents, query)]

    async def ask_async(self, adapter, query, documents):
        return [self.back(one) for one in await adapter.acompress_documents(documents, query)]

    @staticmethod
    def back(one):
        said = one.metadata
        assert said["mine"] == int(one.id[1:])
        marks = (said[field] for field in SCORE_FIELDS)
        return Back(one.page_content, one.id, said["relevance_score"], *marks, one)


class LlamaIndex:
    name = "llama_index"
    needs = "llama_index"

    def adapter(self, top=None, **options):
        from memsift_producer.adapters.llama_index import MemsiftPostprocessor

        return MemsiftPostprocessor(top_n=top, **options)

    def documents(self, texts, *, similarity=None, embedding=None, **fields):
        from llama_index.core.schema import NodeWithScore, TextNode

        return [
            NodeWithScore(
                node=TextNode(text=text, id_=f"d{at}", metadata={"mine": at, **fields}, embedding=embedding),
                score=similarity,
            )
            for at, text in enumerate(texts)
        ]

    def ask(self, adapter, query, documents):
        return [self.back(one) for one in adapter.postprocess_nodes(documents, query_str=query)]

    async def ask_async(self, adapter, query, documents):
        return [self.back(one) for one in await adapter.apostprocess_nodes(documents, query_str=query)]

    @staticmethod
    def back(one):
        from llama_index.core.schema import MetadataMode

        assert one.node.metadata["mine"] == int(one.node.node_id[1:])
        assert "memsift" not in one.node.get_content(MetadataMode.LLM)
        assert "memsift" not in one.node.get_content(MetadataMode.EMBED)
        marks = (one.node.metadata[field] for field in SCORE_FIELDS)
        return Back(one.node.get_content(), one.node.node_id, one.score, *marks, one)


class Haystack:
    name = "haystack"
    needs = "haystack"

    def adapter(self, top=None, **options):
        from memsift_producer.adapters.haystack import MemsiftRanker

        return MemsiftRanker(top_k=top, **options)

    def documents(self, texts, *, similarity=None, embedding=None, **fields):
        from haystack import Document

        return [
            Document(
                id=f"d{at}", content=text, score=similarity, embedding=embedding, meta={"mine": at, **fields}
            )
            for at, text in enumerate(texts)
        ]

    def ask(self, adapter, query, documents):
        return [self.back(one) for one in adapter.run(query=query, documents=documents)["documents"]]

    async def ask_async(self, adapter, query, documents):
        found = await adapter.run_async(query=query, documents=documents)
        return [self.back(one) for one in found["documents"]]

    @staticmethod
    def back(one):
        assert one.meta["mine"] == int(one.id[1:])
        marks = (one.meta[field] for field in SCORE_FIELDS)
        return Back(one.content, one.id, one.score, *marks, one)


class Mem0:
    """mem0 knows no async rerankers: its `AsyncMemory` calls them on threads."""

    name = "mem0"
    needs = "mem0"
    ask_async = None

    def adapter(self, top=None, **options):
        from memsift_producer.adapters.mem0 import MemsiftReranker

        return MemsiftReranker(top_k=top, **options)

    def documents(self, texts, *, similarity=None, **fields):
        return [
            {"id": f"d{at}", "memory": text, "score": similarity, "metadata": {"mine": at}, **fields}
            for at, text in enumerate(texts)
        ]

    def ask(self, adapter, query, documents):
        return [self.back(one) for one in adapter.rerank(query, documents)]

    @staticmethod
    def back(one):
        assert one["metadata"] == {"mine": int(one["id"][1:])}
        marks = (one[field] for field in SCORE_FIELDS)
        return Back(one["memory"], one["id"], one["rerank_score"], *marks, one)


ALL = (Plain(), LangChain(), LlamaIndex(), Haystack(), Mem0())
# Without the frameworks the contract still holds for the plain functions.
SUBJECTS = [one for one in ALL if importlib.util.find_spec(one.needs)]
ASYNC = [one for one in SUBJECTS if one.ask_async]
