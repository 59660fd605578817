"""Where model files live on this machine."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """`MEMSIFT_CACHE_DIR`, else `$XDG_CACHE_HOME/memsift`, else `~/.cache/memsift`. It may not exist yet.

    The default follows https://specifications.freedesktop.org/basedir-spec/latest/, which has a relative
    `XDG_CACHE_HOME` ignored.
    """
    if own := os.environ.get("MEMSIFT_CACHE_DIR"):
        return Path(own).expanduser().absolute()
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (shared if shared.is_absolute() else Path.home() / ".cache") / "memsift"


def models_dir() -> Path:
    """Where pulled models live."""
    return cache_dir() / "models"
