"""The docs' table of clients names the versions that are tested."""

import re
from pathlib import Path

from tests.clients.environment import ALL, NEWEST_COHERE

DOCS = Path(__file__).parent.parent.parent / "docs" / "gateway.md"
SUBJECTS = {
    "cohere",
    "langchain-cohere",
    "llama-index-postprocessor-cohere-rerank",
    "llama-index-postprocessor-jinaai-rerank",
    "rerankers",
    "litellm",
    "voyageai",
    "mem0ai",
    "cohere-haystack",
    "jina-haystack",
    "huggingface-api-haystack",
}


def test_the_docs_name_every_client_in_the_versions_that_are_tested():
    pins = {
        tuple(line.split("==")) for file in (ALL, NEWEST_COHERE) for line in file.read_text().splitlines()
    }
    told = re.findall(r"^\| `([\w-]+)` ([\d.]+)(?: and ([\d.]+))?", DOCS.read_text(), flags=re.MULTILINE)
    assert {name for name, *_ in told} == SUBJECTS
    assert {(name, version) for name, *versions in told for version in versions if version} <= pins
