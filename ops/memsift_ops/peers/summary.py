"""From rounds to numbers: each is the median over the rounds, with the least and the most beside it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memsift_ops.peers.systems import MEMSIFT, QUEUE_ALONE

Round = Mapping[str, Any]
PERCENTILES = (50, 95, 99)


def percentile(ms: Sequence[float], share: int, calls: int) -> float:
    """The latency that a share of all calls did not exceed; lost ones took longer than any other.

    Args:
        ms: of the calls that were answered.
        share: in percent.
        calls: how many there were; where the share falls among the lost ones, the slowest answer is told.
    """
    ordered = sorted(ms)
    return ordered[min(math.ceil(calls * share / 100), len(ordered)) - 1]


def load_numbers(one: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of one load in one round."""
    calls = one["calls"]
    # What its client had to answer itself costs the worker nothing.
    done = max(len(one["ms"]) - one["own"], 1)
    return {
        **{f"p{share}_ms": percentile(one["ms"], share, calls) for share in PERCENTILES},
        "worker_cpu_us": one["worker_cpu_s"] / done * 1e6,
        "producer_cpu_us": one["cpu_s"] / calls * 1e6,
        "prefilter_cpu_us": one["prefilter_cpu_s"] / calls * 1e6,
        "redis_cpu_us": one["redis_cpu_s"] / calls * 1e6,
    }


def drain_numbers(one: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of one drained backlog."""
    return {
        "drain_jobs_per_s": one["jobs"] / one["seconds"],
        "drain_jobs_per_cpu_s": one["jobs"] / max(one["worker_cpu_s"], 1e-9),
        "drain_worker_cpu_us": one["worker_cpu_s"] / one["jobs"] * 1e6,
    }


def summarise(rounds: Mapping[str, Sequence[Round]]) -> dict[str, Any]:
    """What `memsift bench queue --json` prints under `systems`, `spread` and `ratios`.

    Args:
        rounds: of each system.
    """
    return {
        "systems": {name: _system(each, statistics.median) for name, each in rounds.items()},
        "spread": {
            name: {"least": _system(each, min), "most": _system(each, max)} for name, each in rounds.items()
        },
        "ratios": ratios(rounds),
    }


def _system(rounds: Sequence[Round], middle: Callable[[Sequence[float]], float]) -> dict[str, Any]:
    loads = {
        name: {
            **_over([load_numbers(one["loads"][name]) for one in rounds], middle),
            **{what: sum(one["loads"][name][what] for one in rounds) for what in ("late", "lost", "calls")},
        }
        for name in rounds[0]["loads"]
    }
    return {**loads, **_over([drain_numbers(one["drain"]) for one in rounds], middle)}


def _over(
    numbers: Sequence[Mapping[str, float]], middle: Callable[[Sequence[float]], float]
) -> dict[str, float]:
    return {name: round(middle([one[name] for one in numbers]), 3) for name in numbers[0]}


def ratios(rounds: Mapping[str, Sequence[Round]]) -> dict[str, Any]:
    """For each peer how many times memsift's its numbers are, paired round by round.

    Every ratio is better the larger it is: a peer's time over memsift's, memsift's jobs over a peer's.
    `producer_aside_us` leaves out memsift's prefilter, since no peer has one. Under `NAME (queue alone)` is
    the same beside memsift's worker without prompts and scores, since no peer's task has those either.
    """
    found = {}
    for ours, told in ((MEMSIFT, "{}"), (QUEUE_ALONE, "{} (queue alone)")):
        for name, theirs in rounds.items():
            if name not in {MEMSIFT, QUEUE_ALONE} and len(theirs) == len(rounds.get(ours, ())):
                found[told.format(name)] = _ratios(rounds[ours], theirs)
    return found


def _ratios(ours: Sequence[Round], theirs: Sequence[Round]) -> dict[str, Any]:
    pairs = list(zip(ours, theirs, strict=True))
    drains = [(drain_numbers(we["drain"]), drain_numbers(they["drain"])) for we, they in pairs]
    found: dict[str, Any] = {
        "jobs_per_worker_core": _told(
            [we["drain_jobs_per_cpu_s"] / they["drain_jobs_per_cpu_s"] for we, they in drains]
        )
    }
    for load in ours[0]["loads"]:
        each = [(load_numbers(we["loads"][load]), load_numbers(they["loads"][load])) for we, they in pairs]
        found[load] = {
            number: _told([they[number] / max(we[number], 1e-9) for we, they in each])
            for number in ("p50_ms", "p99_ms", "worker_cpu_us", "producer_cpu_us")
        }
        aside = [
            they["producer_cpu_us"] / (we["producer_cpu_us"] - we["prefilter_cpu_us"]) for we, they in each
        ]
        found[load]["producer_aside_us"] = _told(aside)
    return found


def _told(values: Sequence[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(values), 3),
        "least": round(min(values), 3),
        "most": round(max(values), 3),
    }
