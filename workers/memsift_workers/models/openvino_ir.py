"""GGUF files in OpenVINO's own form, converted once and kept in the cache directory.

A GGUF can be loaded directly, but building its graph and tokenizer takes 4 s at every start and the graph
cannot be reached from Python; from the converted form both take 0.4 s (2 cores, SmolLM2-135M). The weights
stay 4-bit.
"""

from __future__ import annotations

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


def openvino_folder(model: Path) -> Path:
    """The folder with `openvino_model.xml` and `openvino_tokenizer.xml` for a model.

    Args:
        model: such a folder, or a GGUF file.

    Raises:
        ModelUnusable: OpenVINO GenAI cannot read this GGUF (damaged, architecture, quantisation), or the
            cache directory cannot be written.
    """
    if model.is_dir():
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
    """Changes when the file or the converter does. A digest of the content would cost 0.2 s at each start."""
    about = model.stat()
    return f"{model.stem}-{about.st_size:x}-{about.st_mtime_ns:x}-{version('openvino-genai')}"


def _convert(model: Path, folder: Path) -> None:
    """Convert beside the target and rename, so that several processes may do it at once."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".convert-", dir=folder.parent))
    try:
        # GenAI writes next to the file that it reads; the link makes that this folder.
        link = scratch / "model.gguf"
        link.symlink_to(model.absolute())
        _run_converter(model, link)
        link.unlink()
        try:
            scratch.replace(folder)
        except OSError:
            # Another process was faster; its folder is as good.
            if not (folder / MODEL_FILE).is_file():
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run_converter(model: Path, link: Path) -> None:
    """In a process of its own: on a damaged file the reader (2026.4.1) ends the process it runs in."""
    command = [sys.executable, "-m", "memsift_workers.models.gguf_convert", str(link)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=CONVERT_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise ModelUnusable(f"{model} was not converted within {CONVERT_TIMEOUT_S:g} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"its reader ended with {done.returncode}"]
        raise ModelUnusable(f"OpenVINO GenAI cannot read {model}: {lines[-1]}")
