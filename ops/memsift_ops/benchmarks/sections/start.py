"""`memsift bench start`."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from memsift_ops.benchmarks.section import Section, Table


def section(record: Mapping[str, Any], machine: str) -> Section:
    """Time to the first answer, time of the import, size of the install."""
    starts = record["first_answer_s"]
    imports = [one["ms"] for one in record["imports"]]
    rows = [
        [
            "a worker with the embedded engine, to its first answer",
            f"{statistics.median(starts):.1f} s ({min(starts):.1f}-{max(starts):.1f})",
        ],
        [
            "`import memsift_producer`",
            f"{statistics.median(imports):.0f} ms ({min(imports):.0f}-{max(imports):.0f})",
        ],
    ]
    if record["install"] is not None:
        size = record["install"]
        rows += [
            ["base install, downloaded", f"{size['download_mb']:.1f} MB"],
            ["base install, on disk", f"{size['installed_mb']:.1f} MB"],
        ]
    return Section("start", "Start", "memsift bench start", machine, (), [Table(("what", "it takes"), rows)])
