"""The one table that decides: a row for each set and ranker, shared by terminal and HTML."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from memsift_ops.evaluation.outcome import PREFILTER

# What decides, in the words of people who deploy.
AT_A_GLANCE = ("P@1", "MRR", "p50 / p95 ms", "$ a month", "leaves network", "needs")
METRICS = {
    "MRR": "mrr",
    "hit@3": "hit_at_3",
    "P@1": "p_at_1",
    "P@3": "p_at_3",
    "R@5": "recall_at_5",
    "nDCG@10": "ndcg_at_10",
}
# Told only where a set has questions that no memory answers.
ABSTENTION = "AUROC"
NUMBERS = (*METRICS, ABSTENTION, "p50 ms", "p95 ms", "p99 ms", "CPU ms")
IN_TERMINAL = ("MRR", "hit@3", "P@1", "P@3", "AUROC", "p50 ms", "p95 ms", "$ a month", "leaves network")
PERCENTILES = ("p50", "p95", "p99")
# Beside an MRR that differs from the prefilter's beyond noise, upwards or downwards.
MARKS = {1: " ▲", -1: " ▼", 0: ""}
# What "a month" means: the volume that a ranker is chosen for.
CALLS_A_MONTH = 30_000_000
UNKNOWN = "-"

# Set -> ranker -> numbers, as `memsift_ops.evaluation.summary` makes them.
Sets = Mapping[str, Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Row:
    """One ranker on one set.

    Attributes:
        ranker: its name.
        cells: a text for each of `AT_A_GLANCE`, `NUMBERS` and `IN_TERMINAL`.
        intervals: the 95% intervals of `METRICS`, where they are known.
        verdict: 1 when its MRR is above the prefilter's beyond noise, -1 when it is below, 0 else.
    """

    ranker: str
    cells: Mapping[str, str]
    intervals: Mapping[str, str]
    verdict: int


def columns(names: Sequence[str], sets: Sets) -> list[str]:
    """Those of these columns that tell something of these sets."""
    known = any(one["abstention"]["auroc"] is not None for found in sets.values() for one in found.values())
    return [name for name in names if known or name != ABSTENTION]


def title(name: str, rankers: Mapping[str, Mapping[str, Any]]) -> str:
    """The set's name, and whether what was measured on it was fitted on it."""
    return f"{name} (in-sample)" if any(one.get("in_sample") for one in rankers.values()) else name


def rows(rankers: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """The rows of one set."""
    return [
        Row(name, _cells(found), _intervals(found["ci95"]), verdict(found)) for name, found in rankers.items()
    ]


def means(sets: Sets) -> list[Row]:
    """Every ranker over all sets, each set counting the same; latency is the mean of the percentiles.

    Args:
        sets: two or more of them with questions that a memory answers; the others count for the AUROC only,
            which is a mean over the sets that know it.
    """
    names = next(iter(sets.values()))
    found = [
        _mean([rankers[name] for rankers in with_answers(sets).values()])
        | {"abstention": _mean_auroc([rankers[name] for rankers in sets.values()])}
        for name in names
    ]
    return [Row(name, _cells(one), {}, 0) for name, one in zip(names, found, strict=True)]


def with_answers(sets: Sets) -> Sets:
    """The sets with questions that a memory answers, over which quality is told."""
    return {name: rankers for name, rankers in sets.items() if rankers[PREFILTER]["n"]}


def mean_title(sets: Sets) -> str:
    """The heading of `means`."""
    every = {f"{name}/{ranker}": one for name, found in sets.items() for ranker, one in found.items()}
    return title(f"mean of {len(with_answers(sets))} sets", every)


def verdict(found: Mapping[str, Any]) -> int:
    """Whether the MRR differs from the prefilter's beyond its 95% interval: 1 better, -1 worse, 0 neither."""
    against = found["against_prefilter"]
    if against is None:
        return 0
    low, high = against["mrr"]["ci95"]
    return int(low > 0) - int(high < 0)


def terminal(sets: Sets) -> Table:
    """For people, 80 columns wide: ▲ and ▼ tell an MRR that differs from the prefilter's beyond noise."""
    table = Table(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("ranker", overflow="fold", min_width=13)
    shown = columns(IN_TERMINAL, sets)
    for name in shown:
        table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True)
    groups = {title(name, found): rows(found) for name, found in sets.items()}
    if len(with_answers(sets)) > 1:
        groups[mean_title(sets)] = means(sets)
    for name, group in groups.items():
        table.add_row(escape(name), style="bold")
        for row in group:
            cells = {**row.cells, "MRR": row.cells["MRR"] + (MARKS[row.verdict] or "  ")}
            style = "dim" if row.ranker == PREFILTER else ""
            table.add_row(f"  {escape(row.ranker)}", *(cells[name] for name in shown), style=style)
        table.add_section()
    return table


def number(value: float | None, digits: int = 3) -> str:
    """A number for people, or a dash for none."""
    return UNKNOWN if value is None else f"{value:,.{digits}f}"


def milliseconds(value: float | None) -> str:
    """With one digit below ten, so that a fast ranker is not 0."""
    return number(value, 1 if value is not None and value < 10 else 0)  # noqa: PLR2004


def dollars(cost_per_million: float | None) -> str:
    """US dollars a month at a million calls a day."""
    return number(None if cost_per_million is None else cost_per_million * CALLS_A_MONTH / 1e6, 0)


def yes_no(value: bool | None) -> str:
    """Also tells that it is not known."""
    return {True: "yes", False: "no", None: "unknown"}[value]


def _cells(found: Mapping[str, Any]) -> dict[str, str]:
    times = {name: milliseconds(found["latency_ms"][name]) for name in PERCENTILES}
    return {
        **{told: number(found[metric]) for told, metric in METRICS.items()},
        ABSTENTION: number(found["abstention"]["auroc"]),
        **{f"{name} ms": told for name, told in times.items()},
        "p50 / p95 ms": f"{times['p50']}\u00a0/ {times['p95']}",
        "CPU ms": milliseconds(found["cpu_ms"]),
        "$ a month": dollars(found["cost_per_million"]),
        "leaves network": yes_no(found["leaves_network"]),
        "needs": found["needs"],
    }


def _intervals(ci95: Mapping[str, Sequence[float] | None]) -> dict[str, str]:
    ends = {told: ci95[metric] for told, metric in METRICS.items()}
    return {told: f"{pair[0]:.2f}–{pair[1]:.2f}" for told, pair in ends.items() if pair is not None}


def _mean(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    def mean(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return statistics.fmean(known) if len(known) == len(values) else None

    return {
        **{metric: mean([one[metric] for one in found]) for metric in METRICS.values()},
        "latency_ms": {at: mean([one["latency_ms"][at] for one in found]) for at in PERCENTILES},
        **{name: mean([one[name] for one in found]) for name in ("cpu_ms", "cost_per_million")},
        "leaves_network": found[0]["leaves_network"],
        "needs": found[0]["needs"],
    }


def _mean_auroc(found: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    known = [one["abstention"]["auroc"] for one in found if one["abstention"]["auroc"] is not None]
    return {"auroc": statistics.fmean(known) if known else None}
