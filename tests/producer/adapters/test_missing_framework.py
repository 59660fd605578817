"""An adapter whose framework is not there says what to install; nothing else needs it."""

import importlib
import sys
import tomllib
from pathlib import Path

import pytest

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
FRAMEWORKS = {
    "langchain": "langchain_core",
    "llama_index": "llama_index",
    "haystack": "haystack",
    "mem0": "mem0",
}


@pytest.mark.parametrize(("adapter", "framework"), FRAMEWORKS.items())
def test_the_error_names_the_remedy(monkeypatch, adapter, framework):
    for name in [one for one in sys.modules if one.split(".")[0] == framework]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, framework, None)
    monkeypatch.delitem(sys.modules, f"memsift_producer.adapters.{adapter}", raising=False)
    extra = adapter.replace("_", "-")
    with pytest.raises(ImportError, match=rf"{framework}\S* is missing: pip install 'memsift\[{extra}\]'"):
        importlib.import_module(f"memsift_producer.adapters.{adapter}")
    # Then that is an extra, and of no other
    assert extra in PROJECT["optional-dependencies"]
    assert f"memsift[{extra}]" not in str(PROJECT["optional-dependencies"]["all"])


def test_another_error_of_a_framework_stays_its_own(monkeypatch, tmp_path):
    (tmp_path / "haystack.py").write_text("raise RuntimeError('broken')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "haystack", raising=False)
    monkeypatch.delitem(sys.modules, "memsift_producer.adapters.haystack", raising=False)
    with pytest.raises(RuntimeError, match="broken"):
        importlib.import_module("memsift_producer.adapters.haystack")
    sys.modules.pop("haystack", None)
