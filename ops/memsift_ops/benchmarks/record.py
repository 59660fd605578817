"""Result files: what was measured, where, with what, and how; read back by `memsift bench report`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memsift_ops.benchmarks.machine import machine
from memsift_ops.commands.version import versions
from memsift_ops.errors import Refused


def begun(bench: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The head of a result, made before the measuring.

    Args:
        bench: the benchmark's name.
        arguments: what it was asked, seeds among them.
    """
    return {
        "bench": bench,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
        "arguments": dict(arguments),
    }


def write(path: Path, record: Mapping[str, Any]) -> None:
    """Write one result; the file is whole or is not there.

    Raises:
        Refused: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(path.name + ".part")
        beside.write_text(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from None


def read(path: Path) -> dict[str, Any]:
    """Read one result.

    Raises:
        Refused: the file is no result of a benchmark.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from None
    except ValueError:
        raise Refused(f"{path}: is no JSON file") from None
    if not isinstance(record, dict) or not isinstance(record.get("bench"), str):
        raise Refused(f"{path}: is no result of `memsift bench`, it has no key `bench`")
    return record
