"""`memsift chaos --scenario overload`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsift_ops.benchmarks.section import Section, Table


def section(record: Mapping[str, Any], machine: str) -> Section:
    """What is answered while far more is asked than can be."""
    found = record["scenarios"]["overload"]
    text = [
        f"Far more calls than the capacity of {found['capacity_per_s']:g} jobs/s, then a normal load again; "
        f"{found['calls']:,} calls, {found['answered_by_model']:,} answered by the model, the others by the "
        "prefilter, by their deadline. What the numbers mean: [chaos.md](chaos.md).",
    ]
    rows = [
        [
            "in each third of the storm, answers by the model over capacity",
            _thirds(found["storm_thirds"]),
            "",
        ],
        [
            "seconds after the storm until every call is answered by the model again",
            f"{found['normal_after_s']:.2f}",
            "",
        ],
        *([check["promise"], f"{check['measured']:.4g}", _limit(check)] for check in found["checks"]),
    ]
    command = "memsift chaos --scenario overload"
    return Section(
        "overload", "Overload", command, machine, text, [Table(("what", "measured", "promised"), rows)]
    )


def _limit(check: Mapping[str, Any]) -> str:
    promised = f"at least {check['at_least']:g}" if "at_least" in check else f"at most {check['at_most']:g}"
    return promised if check["kept"] else f"{promised}: broken"


def _thirds(shares: list[float]) -> str:
    return ", ".join(f"{share:.1%}" for share in shares)
