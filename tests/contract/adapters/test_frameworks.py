"""Each adapter where its framework uses it: in an engine, a pipeline, a memory store. No model is asked."""

import hashlib
import importlib.util

import pytest

from tests.contract.adapters.promises import ANSWER, QUERY, TEXTS

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]


def needs(name):
    """Only where the framework is; tests/clients/test_adapters.py makes sure that it is there."""
    return pytest.mark.skipif(not importlib.util.find_spec(name), reason=f"{name} is not installed here")


DIMENSIONS = 128


class Hashes:
    """An embedder without a model: a text's vector counts its words, by their hash."""

    def __init__(self, config=None):
        self.config = config

    def embed(self, text, memory_action=None):
        vector = [0.0] * DIMENSIONS
        for word in text.lower().split():
            vector[hashlib.sha256(word.encode()).digest()[0] % DIMENSIONS] += 1.0
        return vector

    def embed_batch(self, texts, memory_action=None):
        return [self.embed(text) for text in texts]


@needs("langchain_core")
async def test_langchain_chains_it_behind_a_retriever(served):
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from memsift_producer.adapters.langchain import MemsiftCompressor

    class Recall(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [Document(page_content=text) for text in TEXTS]

    compressor = MemsiftCompressor(reranker=served, top_n=1)
    mine = compressor.model_copy(update={"user": "u1", "session": "s1"})
    assert (mine.reranker, mine.top_n, mine.user) == (served, 1, "u1")

    chain = Recall() | (lambda found: mine.compress_documents(found, QUERY))
    assert [one.page_content for one in chain.invoke(QUERY)] == [ANSWER]
    (best,) = await chain.ainvoke(QUERY)
    assert best.metadata["memsift_source"] == "model"


@needs("llama_index")
async def test_llama_index_asks_it_in_a_query_engine(served):
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, TextNode

    from memsift_producer.adapters.llama_index import MemsiftPostprocessor

    class Recall(BaseRetriever):
        def _retrieve(self, query_bundle):
            return [NodeWithScore(node=TextNode(text=text), score=0.5) for text in TEXTS]

    engine = RetrieverQueryEngine.from_args(
        Recall(), llm=MockLLM(), node_postprocessors=[MemsiftPostprocessor(reranker=served, top_n=1)]
    )
    for answer in (engine.query(QUERY), await engine.aquery(QUERY)):
        (best,) = answer.source_nodes
        assert best.text == ANSWER
        assert best.metadata["memsift_source"] == "model"


@needs("llama_index")
def test_llama_index_without_a_question_says_so(served):
    from memsift_producer.adapters.llama_index import MemsiftPostprocessor

    with pytest.raises(ValueError, match="query_bundle"):
        MemsiftPostprocessor(reranker=served).postprocess_nodes([])


@needs("llama_index")
def test_llama_index_ranks_by_embeddings_where_it_has_them(served):
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    from memsift_producer.adapters.llama_index import MemsiftPostprocessor

    # Given texts that say nothing, and a question whose vector is near the last one's
    nodes = [
        NodeWithScore(node=TextNode(text=f"Note {at}.", embedding=vector))
        for at, vector in enumerate([[1.0, 0.0], [0.7, 0.7], [0.0, 1.0]])
    ]
    asked = QueryBundle("which?", embedding=[0.1, 1.0])
    (best,) = MemsiftPostprocessor(reranker=served, top_n=1).postprocess_nodes(nodes, asked)
    assert best.text == "Note 2."


@needs("haystack")
async def test_haystack_runs_it_in_a_pipeline_that_can_be_written_and_read(served, stack, monkeypatch):
    from haystack import Document, Pipeline
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    from memsift_producer import process
    from memsift_producer.adapters.haystack import MemsiftRanker

    store = InMemoryDocumentStore()
    store.write_documents([Document(content=text, meta={"created_at": "2026-03-02"}) for text in TEXTS])
    pipeline = Pipeline()
    pipeline.add_component("recall", InMemoryBM25Retriever(store))
    pipeline.add_component("ranker", MemsiftRanker(top_k=1, reranker=served, timezone="Asia/Shanghai"))
    pipeline.connect("recall.documents", "ranker.documents")
    asked = {"recall": {"query": QUERY}, "ranker": {"query": QUERY, "user": "u1", "session": "s1"}}
    for found in (pipeline.run(asked), await pipeline.run_async(asked)):
        (best,) = found["ranker"]["documents"]
        assert best.content == ANSWER
        assert best.meta["memsift_source"] == "model"

    # When it is written down and read again, on a machine whose environment names the queue
    monkeypatch.setenv("MEMSIFT_REDIS_URL", stack[0])
    monkeypatch.setenv("MEMSIFT_QUEUE", stack[1])
    monkeypatch.setenv("MEMSIFT_DEADLINE_MS", "20000")
    text = pipeline.dumps()
    assert "redis" not in text
    read = Pipeline.loads(text, allowed_modules=["memsift_producer.adapters.*"])
    ranker = read.get_component("ranker")
    try:
        ranker.warm_up()
        assert ranker.top_k == 1
        assert ranker.to_dict() == pipeline.get_component("ranker").to_dict()
        (best,) = ranker.run(query=QUERY, documents=[Document(content=text) for text in TEXTS])["documents"]
        assert best.content == ANSWER
    finally:
        process._own.close()


@needs("haystack")
def test_haystack_leaves_out_what_scores_below_its_threshold(served):
    from haystack import Document

    from memsift_producer.adapters.haystack import MemsiftRanker

    ranker = MemsiftRanker(reranker=served)
    documents = [Document(content=text) for text in TEXTS]
    everything = ranker.run(query=QUERY, documents=documents)["documents"]
    least = everything[1].score
    some = ranker.run(query=QUERY, documents=documents, score_threshold=least)["documents"]
    assert [one.id for one in some] == [one.id for one in everything[:2]]
    assert ranker.run(query=QUERY, documents=documents, score_threshold=0.0, top_k=1)["documents"] == some[:1]
    with pytest.raises(ValueError, match="top_k"):
        ranker.run(query=QUERY, documents=documents, top_k=0)


@pytest.fixture
def memories(tmp_path, monkeypatch):
    """Makes a real mem0 memory, whose embedder has no model and whose language model is never asked."""
    from mem0 import Memory
    from mem0.utils.factory import EmbedderFactory

    monkeypatch.setitem(EmbedderFactory.provider_to_class, "ollama", f"{__name__}.Hashes")

    def make(**config):
        vectors = {
            "collection_name": "m",
            "embedding_model_dims": DIMENSIONS,
            "path": str(tmp_path / "qdrant"),
        }
        memory = Memory.from_config(
            {
                "embedder": {"provider": "ollama", "config": {"embedding_dims": DIMENSIONS}},
                "vector_store": {"provider": "qdrant", "config": vectors},
                "history_db_path": str(tmp_path / "history.db"),
                **config,
            }
        )
        for text in TEXTS:
            memory.add(text, user_id="u1", infer=False)
        return memory

    return make


@needs("mem0")
def test_mem0_asks_it_when_it_searches(memories, served, asked):
    from memsift_producer.adapters.mem0 import MemsiftReranker

    memory = memories()
    memory.reranker = MemsiftReranker(reranker=served)
    found = memory.search(QUERY, filters={"user_id": "u1"}, top_k=3, threshold=0.0, rerank=True)["results"]
    assert found[0]["memory"] == ANSWER
    assert {(one["memsift_source"], one["memsift_cause"]) for one in found} == {("model", None)}
    # Then the memories' user and times were known
    (question,) = asked
    assert question.user == "u1"
    assert all(one["created_at"] and one["similarity"] is not None for one in question.memories)


@needs("mem0")
def test_mem0_makes_it_of_its_configuration(memories, stack, monkeypatch):
    from memsift_producer import process
    from memsift_producer.adapters.mem0 import MemsiftReranker, register

    monkeypatch.setenv("MEMSIFT_REDIS_URL", stack[0])
    monkeypatch.setenv("MEMSIFT_QUEUE", f"{stack[1]}:nobody")
    register()
    memory = memories(reranker={"provider": "memsift", "config": {"deadline": 0.2, "session": "s1"}})
    assert isinstance(memory.reranker, MemsiftReranker)
    try:
        found = memory.search(QUERY, filters={"user_id": "u1"}, threshold=0.0, rerank=True)["results"]
    finally:
        process._own.close()
    # Then the fallback shows in mem0's own result
    assert found[0]["memory"] == ANSWER
    assert {(one["memsift_source"], one["memsift_cause"]) for one in found} == {("prefilter", "deadline")}
