"""Models in OpenVINO's own form, converted once and kept in the cache directory.

A GGUF can be loaded directly, but building its graph and tokenizer takes 4 s at every start and the graph
cannot be reached from Python; from the converted form both take 0.4 s (2 cores, SmolLM2-135M). The weights
stay 4-bit. A Hugging Face folder of safetensors is converted by optimum-intel, with 8-bit weights.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from memsift_workers.models.errors import ModelUnusable
from memsift_workers.models.folders import cache_dir

MODEL_FILE = "openvino_model.xml"
CONVERT_TIMEOUT_S = 900.0
"""Seconds for a conversion: 5 for 135 million parameters, a few minutes for 4 billion."""


def is_hugging_face(folder: Path) -> bool:
    """Whether a folder is a model as `save_pretrained` or a hub writes it, with safetensors."""
    return (folder / "config.json").is_file() and any(folder.glob("*.safetensors"))


def openvino_folder(model: Path) -> Path:
    """The folder with `openvino_model.xml` and `openvino_tokenizer.xml` for a model.

    Args:
        model: such a folder, a Hugging Face folder with safetensors, or a GGUF file.

    Raises:
        ModelUnusable: it cannot be converted (damaged, architecture, quantisation, the converter is not
            installed), or the cache directory cannot be written.
    """
    if (model / MODEL_FILE).is_file():
        return model
    folder = cache_dir() / "openvino" / _key(model)
    if not (folder / MODEL_FILE).is_file():
        try:
            _convert(model, folder)
        except OSError as error:
            raise ModelUnusable(
                f"cannot write {folder.parent} ({error.strerror}): set MEMSIFT_CACHE_DIR"
            ) from None
    return folder


def _key(model: Path) -> str:
    """Changes when a file or the converter does. A digest of the content would cost 0.2 s at each start."""
    files = sorted(model.glob("*.safetensors")) if model.is_dir() else [model]
    about = [file.stat() for file in files]
    size, newest = sum(one.st_size for one in about), max(one.st_mtime_ns for one in about)
    return f"{model.stem}-{size:x}-{newest:x}-{version('openvino-genai')}"


def _convert(model: Path, folder: Path) -> None:
    """Convert beside the target and rename, so that several processes may do it at once."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".convert-", dir=folder.parent))
    try:
        if model.is_dir():
            _convert_safetensors(model, scratch)
        else:
            _convert_gguf(model, scratch)
        try:
            scratch.replace(folder)
        except OSError:
            # Another process was faster; its folder is as good.
            if not (folder / MODEL_FILE).is_file():
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _convert_gguf(model: Path, out: Path) -> None:
    # GenAI writes next to the file that it reads; the link makes that this folder.
    link = out / "model.gguf"
    link.symlink_to(model.absolute())
    _run(model, ["memsift_workers.models.gguf_convert", str(link)])
    link.unlink()


def _convert_safetensors(model: Path, out: Path) -> None:
    if importlib.util.find_spec("optimum") is None:
        raise ModelUnusable(
            f"{model} holds safetensors, and what converts them is missing: pip install 'memsift[convert]', "
            f"or run `optimum-cli export openvino --model {model} OUT` elsewhere and name OUT"
        )
    task = ["--task", "text-generation-with-past", "--weight-format", "int8"]
    arguments = ["export", "openvino", "--model", str(model.absolute()), *task, str(out)]
    _run(model, ["optimum.commands.optimum_cli", *arguments])
    if not (out / MODEL_FILE).is_file():
        raise ModelUnusable(f"optimum-cli made no {MODEL_FILE} of {model}")


def _run(model: Path, module: list[str]) -> None:
    """In a process of its own: on a damaged file the GGUF reader (2026.4.1) ends the process it runs in."""
    offline = {"HF_HUB_OFFLINE": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", *module]
    try:
        done = subprocess.run(
            command,
            env=os.environ | offline,
            capture_output=True,
            text=True,
            timeout=CONVERT_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ModelUnusable(f"{model} was not converted within {CONVERT_TIMEOUT_S:g} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"the converter ended with {done.returncode}"]
        raise ModelUnusable(f"{model} cannot be converted: {lines[-1]}")
