"""Settings name rankers, runtimes and strategies; each name gives the object that it means."""

import pytest

from memsift_schemas.settings import WorkerSettings
from memsift_workers.assembly import build_rankers, build_runtime, build_strategy
from memsift_workers.models.errors import ModelMissing
from memsift_workers.rankers.base import Ranker
from memsift_workers.runtimes.base import Runtime


def scripted(**fields):
    return WorkerSettings(**{"runtime": "scripted", "redis_url": "redis://127.0.0.1:1/0", **fields})


@pytest.mark.parametrize("name", ["likelihood", "pointwise", "listwise", "scorecard"])
def test_every_strategy_is_built_by_its_name(name):
    assert build_strategy(scripted(strategy=name)).name == name


@pytest.mark.parametrize("name", ["scripted", "sglang"])
def test_a_runtime_is_built_by_its_name(name):
    runtime = build_runtime(scripted(runtime=name))
    assert isinstance(runtime, Runtime)
    assert runtime.name == name


def test_an_absent_model_names_the_remedy(tmp_path):
    with pytest.raises(ModelMissing, match="memsift model pull"):
        build_runtime(scripted(runtime="embedded", model=str(tmp_path / "absent.gguf")))


def test_the_default_comes_first_and_chains_share_their_parts():
    rankers = build_rankers(scripted(ranker="jev>local", also_serve="local, jev"))
    assert [ranker.name for ranker in rankers] == ["jev>local", "local", "jev"]
    assert all(isinstance(ranker, Ranker) for ranker in rankers)
    chain, local, jev = rankers
    assert chain._first is jev
    assert chain._second is local
