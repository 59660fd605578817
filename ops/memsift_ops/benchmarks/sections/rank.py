"""`memsift bench rank`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsift_ops.benchmarks.section import Section, Table
from memsift_ops.evaluation.markup import Markup
from memsift_ops.evaluation.plots.tradeoff import tradeoff


def section(record: Mapping[str, Any], machine: str) -> Section:
    """Quality and time of every ranker on every set, and what could not be run."""
    asked = record["arguments"]
    text = [
        f"Each ranker alone, one question after the other, at most {asked['limit']} questions of each set, "
        "the same for all. `likelihood` and the other strategies rank what the prefilter leaves; the others "
        "rank all candidates.",
        *(f"{name} was not run: {why}" for name, why in record["not_run"].items()),
    ]
    heads = ("ranker", "MRR", "95% interval", "hit@3", "nDCG@10", "p50 ms", "p95 ms", "CPU ms")
    tables = [
        Table(
            heads,
            [_row(name, one) for name, one in rankers.items()],
            f"{of}: {_questions(rankers)} questions",
        )
        for of, rankers in record["sets"].items()
    ]
    tables.append(Table(("ranker", "what it is"), list(record["about"].items())))
    command = "memsift bench rank " + " ".join(f"--set {name}" for name in record["sets"])
    return Section("rank", "Rerankers", command, machine, text, tables, _pictures(record["sets"]))


def _row(name: str, one: Mapping[str, Any]) -> list[str]:
    low, high = one["mrr_ci95"]
    quality = [f"{one[key]:.3f}" for key in ("hit_at_3", "ndcg_at_10")]
    times = [f"{one[key]:.1f}" for key in ("p50_ms", "p95_ms", "cpu_ms")]
    return [name, f"{one['mrr']:.3f}", f"{low:.3f}-{high:.3f}", *quality, *times]


def _questions(rankers: Mapping[str, Any]) -> int:
    return max((one["questions"] for one in rankers.values()), default=0)


def _pictures(sets: Mapping[str, Any]) -> dict[str, Markup]:
    drawn = {
        f"{name}: MRR against latency": tradeoff(
            name,
            {
                ranker: {
                    "mrr": one["mrr"],
                    "ci95": {"mrr": one["mrr_ci95"]},
                    "latency_ms": {"p50": one["p50_ms"], "p95": one["p95_ms"]},
                }
                for ranker, one in rankers.items()
            },
        )
        for name, rankers in sets.items()
    }
    return {title: picture for title, picture in drawn.items() if picture is not None}
