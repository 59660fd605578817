"""Models are converted once, in a child process; whatever goes wrong there says what to do."""

import sys
import textwrap

import pytest

from memsift_workers.models.errors import ModelUnusable
from memsift_workers.models.openvino_ir import MODEL_FILE, openvino_folder

# Stands in for optimum-intel, which brings torch: tested is how it is called and what is made of its end.
CONVERTER = """
    import os, pathlib, sys
    assert sys.argv[1:3] == ["export", "openvino"] and os.environ["HF_HUB_OFFLINE"] == "1"
    out = pathlib.Path(sys.argv[-1])
    {action}
"""
WRITES = "(out / 'openvino_model.xml').write_text(sys.argv[sys.argv.index('--model') + 1])"


@pytest.fixture
def hub(tmp_path):
    folder = tmp_path / "hub-model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMSIFT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "openvino"


@pytest.fixture
def converter(tmp_path, monkeypatch):
    def install(action):
        commands = tmp_path / "site" / "optimum" / "commands"
        commands.mkdir(parents=True, exist_ok=True)
        (commands.parent / "__init__.py").touch()
        (commands / "__init__.py").touch()
        (commands / "optimum_cli.py").write_text(textwrap.dedent(CONVERTER).format(action=action))
        monkeypatch.syspath_prepend(str(tmp_path / "site"))

    yield install
    for name in [name for name in sys.modules if name.split(".")[0] == "optimum"]:
        del sys.modules[name]


def test_a_hugging_face_folder_is_converted_once(hub, cache, converter):
    converter(WRITES)
    folder = openvino_folder(hub)
    assert (folder / MODEL_FILE).read_text() == str(hub)
    converter("raise SystemExit('asked twice')")
    assert openvino_folder(hub) == folder
    assert [one.name for one in cache.iterdir()] == [folder.name]


def test_changed_weights_are_converted_anew(hub, cache, converter):
    converter(WRITES)
    first = openvino_folder(hub)
    (hub / "model.safetensors").write_bytes(b"other weights")
    assert openvino_folder(hub) != first


def test_without_the_converter_the_extra_is_named(hub, cache):
    with pytest.raises(ModelUnusable, match=r"pip install 'memsift\[convert\]'"):
        openvino_folder(hub)


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("raise SystemExit('no such architecture')", "no such architecture"),
        ("pass", "made no openvino_model.xml"),
    ],
)
def test_a_conversion_that_fails_leaves_nothing(hub, cache, converter, action, told):
    converter(action)
    with pytest.raises(ModelUnusable, match=told):
        openvino_folder(hub)
    assert list(cache.iterdir()) == []


def test_an_openvino_folder_is_taken_as_it_is(tmp_path):
    (tmp_path / MODEL_FILE).touch()
    assert openvino_folder(tmp_path) == tmp_path
