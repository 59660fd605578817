"""The docs' tables of clients and frameworks name the versions that are tested."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.clients.environment import ALL, NEWEST_COHERE

ROOT = Path(__file__).parent.parent.parent
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
FRAMEWORKS = {
    "langchain-core": "langchain",
    "llama-index-core": "llama-index",
    "haystack-ai": "haystack",
    "mem0ai": "mem0",
}
CLIENTS = {
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


def told(page):
    """The packages in the first column of a table, each with its versions."""
    text = (ROOT / "docs" / page).read_text()
    return re.findall(r"^\| `([\w-]+)` ([\d.]+)(?: and ([\d.]+))?", text, flags=re.MULTILINE)


def pins():
    lines = [line for file in (ALL, NEWEST_COHERE) for line in file.read_text().splitlines()]
    return {tuple(line.split("==")) for line in lines if "==" in line}


@pytest.mark.parametrize(("page", "subjects"), [("gateway.md", CLIENTS), ("adapters.md", set(FRAMEWORKS))])
def test_the_docs_name_every_subject_in_the_versions_that_are_tested(page, subjects):
    assert {name for name, *_ in told(page)} == subjects
    assert {(name, version) for name, *versions in told(page) for version in versions if version} <= pins()


@pytest.mark.parametrize(("package", "extra"), FRAMEWORKS.items())
def test_an_extra_takes_the_version_that_is_tested(package, extra):
    (line,) = [one for one in EXTRAS[extra] if not one.startswith("memsift[")]
    wanted = Requirement(line)
    assert wanted.name == package
    assert wanted.specifier.contains(dict(pins())[package])


def test_the_docs_name_the_sdk_that_the_extra_wants():
    (line,) = EXTRAS["mcp"]
    assert f"`mcp` {line.removeprefix('mcp>=')} or newer" in (ROOT / "docs" / "mcp.md").read_text()
