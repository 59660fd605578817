"""The machine that a benchmark ran on."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import psutil


def machine() -> dict[str, Any]:
    """Processor, cores, memory, kernel, and how busy it was with other things when asked."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "load_average": round(os.getloadavg()[0], 2),
    }


def in_words(told: dict[str, Any]) -> str:
    """One line of it."""
    return (
        f"{told['cores']} cores of {told['processor']}, {told['memory_gb']:.0f} GB, {told['system']}, "
        f"load average {told['load_average']} at the start"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
