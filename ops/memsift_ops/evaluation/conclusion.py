"""What the numbers say, in one sentence."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from memsift_ops.evaluation.glance import Sets, milliseconds, verdict, with_answers
from memsift_ops.evaluation.outcome import PREFILTER
from memsift_ops.evaluation.plots.time_axis import BUDGET_MS

METRIC = "mrr"


def sentence(every: Sets) -> str:
    """Which ranker is best within the budget, and whether it differs from the prefilter beyond noise.

    Best is who gains most MRR over the prefilter on the same questions, each set counting the same; within
    the budget is whose 95th percentile is so on every set.
    """
    sets = with_answers(every)
    rankers = next(iter(every.values()))
    others = [name for name in rankers if name != PREFILTER and _answers(sets, name)]
    limit = f"{BUDGET_MS[1]:.0f} ms"
    if not others:
        return "No ranker but the prefilter answered, so there is nothing to compare."
    fast = [name for name in others if _slowest(sets, name) <= BUDGET_MS[1]]
    best = max(fast, key=lambda name: _gain(sets, name), default=None)
    if best is None:
        said = f"No ranker answers within {limit} but the prefilter"
    elif _gain(sets, best) <= 0:
        said = f"No ranker within {limit} is ahead of the prefilter"
    else:
        said = f"Within {limit}, {best} has the best MRR: {_compared(sets, best)}"
    reached = 0.0 if best is None else max(_gain(sets, best), 0.0)
    slow = [name for name in others if name not in fast and _gain(sets, name) > reached]
    if slow:
        first = max(slow, key=lambda name: _gain(sets, name))
        took = milliseconds(_slowest(sets, first))
        gained = f"{first} gains {_gain(sets, first):+.3f} on the prefilter"
        said += f"; {gained}, but takes {took} ms at the 95th percentile"
    return said + "."


def _compared(sets: Sets, ranker: str) -> str:
    found = [one[ranker] for one in sets.values()]
    gained = _gain(sets, ranker)
    ours = statistics.fmean(one[METRIC] for one in found)
    said = f"{ours:.3f} against the prefilter's {ours - gained:.3f}"
    fell_back = sum(one["fell_back"]["n"] for one in found)
    if fell_back:
        answered = sum(one["n"] for one in found)
        said += f" on the {answered:,} of {answered + fell_back:,} questions that it answered"
    if len(found) == 1:
        low, high = found[0]["against_prefilter"][METRIC]["ci95"]
        noise = "beyond noise" if verdict(found[0]) else "within noise"
        return f"{said}, a gain of {gained:+.3f} that is {noise} (95% interval {low:+.3f} to {high:+.3f})"
    better, worse = (sum(verdict(one) == sign for one in found) for sign in (1, -1))
    if not better and not worse:
        return f"{said}, a difference that is within noise on each of the {len(found)} sets"
    said += f", ahead beyond noise on {better} of {len(found)} sets"
    return said + (f" and behind on {worse}" if worse else "")


def _answers(sets: Sets, ranker: str) -> bool:
    return bool(sets) and all(one[ranker]["n"] for one in sets.values())


def _gain(sets: Sets, ranker: str) -> float:
    return statistics.fmean(one[ranker]["against_prefilter"][METRIC]["difference"] for one in sets.values())


def _slowest(sets: Sets, ranker: str) -> float:
    times: Iterable[float] = (one[ranker]["latency_ms"]["p95"] for one in sets.values())
    return max(times)
