"""Runs inside the clients' own environment: calls a gateway through one real, unpatched client.

    python calls.py '["cohere_v2", ...]' '{CASE: {"url", "key", "documents", "timeout"}, ...}'

Prints one JSON object: for each client and case the indexes in the client's own order, or the exception's
type and text.
Each function takes the gateway's URL, a key, documents and a timeout in seconds, and returns those indexes.
"""

import json
import os
import sys

QUERY = "Where is the spare key to the cabin?"
MODEL = "rerank-v3.5"


def cohere_v2(url, key, documents, timeout):
    import cohere

    client = cohere.ClientV2(key, base_url=url, timeout=timeout)
    found = client.rerank(model=MODEL, query=QUERY, documents=documents)
    assert found.meta.billed_units.search_units == 1
    return [one.index for one in found.results]


def cohere_v1(url, key, documents, timeout):
    import cohere

    client = cohere.Client(key, base_url=url, timeout=timeout)
    found = client.rerank(model=MODEL, query=QUERY, documents=documents, return_documents=True)
    assert [one.document.text for one in found.results] == [documents[one.index] for one in found.results]
    return [one.index for one in found.results]


def cohere_async(url, key, documents, timeout):
    import asyncio

    import cohere

    async def ask():
        async with cohere.AsyncClientV2(key, base_url=url, timeout=timeout) as client:
            found = await client.rerank(model=MODEL, query=QUERY, documents=documents)
            return [one.index for one in found.results]

    return asyncio.run(ask())


def langchain_cohere(url, key, documents, timeout):
    import cohere
    from langchain_cohere import CohereRerank
    from langchain_core.documents import Document

    client = cohere.ClientV2(key, base_url=url, timeout=timeout)
    compressor = CohereRerank(client=client, model=MODEL, top_n=len(documents))
    given = [Document(page_content=text, metadata={"at": at}) for at, text in enumerate(documents)]
    return [one.metadata["at"] for one in compressor.compress_documents(given, QUERY)]


def llama_index_cohere(url, key, documents, timeout):
    from llama_index.postprocessor.cohere_rerank import CohereRerank

    return _llama_index(CohereRerank(api_key=key, base_url=url, model=MODEL, top_n=len(documents)), documents)


def llama_index_jina(url, key, documents, timeout):
    from llama_index.postprocessor.jinaai_rerank import JinaRerank

    return _llama_index(JinaRerank(api_key=key, base_url=f"{url}/v1", top_n=len(documents)), documents)


def _llama_index(postprocessor, documents):
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    nodes = [NodeWithScore(node=TextNode(text=text, id_=str(at))) for at, text in enumerate(documents)]
    found = postprocessor.postprocess_nodes(nodes, QueryBundle(QUERY))
    return [int(one.node.node_id) for one in found]


def rerankers_cohere(url, key, documents, timeout):
    return _rerankers("cohere", f"{url}/v1/rerank", key, documents)


def rerankers_jina(url, key, documents, timeout):
    return _rerankers("jina", f"{url}/v1/rerank", key, documents)


def rerankers_voyage(url, key, documents, timeout):
    return _rerankers("voyage", f"{url}/voyage/v1/rerank", key, documents)


def rerankers_tei(url, key, documents, timeout):
    return _rerankers("text-embeddings-inference", f"{url}/tei/rerank", key, documents)


def _rerankers(provider, url, key, documents):
    from rerankers.models.api_rankers import APIRanker

    found = APIRanker(MODEL, key, provider, verbose=0, url=url).rank(
        QUERY, documents, doc_ids=list(range(len(documents)))
    )
    return [one.doc_id for one in found.results]


def litellm_cohere(url, key, documents, timeout):
    return _litellm("cohere/rerank-v3.5", url, key, documents, timeout)


def litellm_jina(url, key, documents, timeout):
    return _litellm("jina_ai/jina-reranker-v2-base-multilingual", url, key, documents, timeout)


def litellm_voyage(url, key, documents, timeout):
    return _litellm("voyage/rerank-2", f"{url}/voyage/v1", key, documents, timeout)


def _litellm(model, url, key, documents, timeout):
    import litellm

    found = litellm.rerank(
        model=model,
        query=QUERY,
        documents=documents,
        api_base=url,
        api_key=key,
        timeout=timeout,
        max_retries=0,
    )
    return [one["index"] for one in found.results]


def voyageai(url, key, documents, timeout):
    import voyageai

    client = voyageai.Client(api_key=key, base_url=f"{url}/voyage/v1", timeout=timeout, max_retries=0)
    found = client.rerank(QUERY, documents, model="rerank-2")
    assert isinstance(found.total_tokens, int)
    return [one.index for one in found.results]


def mem0(url, key, documents, timeout):
    os.environ["CO_API_URL"] = url  # mem0 passes no address on; cohere reads this one when it is imported
    from mem0.configs.rerankers.cohere import CohereRerankerConfig
    from mem0.reranker.cohere_reranker import CohereReranker

    memories = [{"id": str(at), "memory": text} for at, text in enumerate(documents)]
    found = CohereReranker(CohereRerankerConfig(api_key=key, model=MODEL)).rerank(QUERY, memories)
    if not any(one["rerank_score"] for one in found):
        raise RuntimeError("mem0 gave its own order back, all scores 0")
    return [int(one["id"]) for one in found]


def haystack_cohere(url, key, documents, timeout):
    from haystack.utils import Secret
    from haystack_integrations.components.rankers.cohere import CohereRanker

    ranker = CohereRanker(model=MODEL, api_key=Secret.from_token(key), api_base_url=url, top_k=len(documents))
    return _haystack(ranker, documents)


def haystack_jina(url, key, documents, timeout):
    from haystack.utils import Secret
    from haystack_integrations.components.rankers.jina import JinaRanker

    return _haystack(JinaRanker(api_key=Secret.from_token(key), base_url=f"{url}/v1/rerank"), documents)


def haystack_tei(url, key, documents, timeout):
    from haystack.utils import Secret
    from haystack_integrations.components.rankers.huggingface_api import HuggingFaceTEIRanker

    ranker = HuggingFaceTEIRanker(
        url=url, token=Secret.from_token(key), top_k=len(documents), timeout=timeout, max_retries=1
    )
    return _haystack(ranker, documents)


def _haystack(ranker, documents):
    from haystack import Document

    given = [Document(content=text, meta={"at": at}) for at, text in enumerate(documents)]
    return [one.meta["at"] for one in ranker.run(query=QUERY, documents=given)["documents"]]


def _outcome(call, case):
    try:
        return {"indexes": call(case["url"], case["key"], case["documents"], case["timeout"])}
    except Exception as error:  # noqa: BLE001  # which one it is is what the tests ask
        kind = type(error)
        return {"error": f"{kind.__module__}.{kind.__qualname__}", "text": str(error)[:2_000]}


if __name__ == "__main__":
    names, cases = (json.loads(argument) for argument in sys.argv[1:])
    found = {
        name: {case: _outcome(globals()[name], asked) for case, asked in cases.items()} for name in names
    }
    print(json.dumps(found))  # noqa: T201
