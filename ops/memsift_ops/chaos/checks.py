"""What was promised, as pure functions over what was recorded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from memsift_ops.chaos.record import Call

# The promise of the design: at most so long after the deadline, at p99.9, the loop's own lag taken off.
OVER_MS = 10.0
# In the short form, which runs on machines that others share: it finds what waits for ever, not what is slow.
QUICK_OVER_MS = 250.0


@dataclass(frozen=True, slots=True)
class Check:
    """One promise.

    Attributes:
        promise: in words.
        measured: what was found; None when there was nothing to find it in, which breaks the promise.
        limit: the most that keeps it, or the least where `at_least` is set.
        at_least: which of the two.
    """

    promise: str
    measured: float | None
    limit: float
    at_least: bool = False

    @property
    def kept(self) -> bool:
        """Whether the promise was kept."""
        if self.measured is None or not math.isfinite(self.measured):
            return False
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "promise": self.promise,
            "measured": self.measured,
            "at_least" if self.at_least else "at_most": self.limit,
            "kept": self.kept,
        }


@dataclass(slots=True)
class Tally:
    """The calls of a scenario, counted.

    Attributes:
        expected: how many calls were to be made.
        answered: how many of them came back with a ranking.
        by_model: how many of those the model made.
        left: how many were given up by their callers before they were answered.
        invalid: rankings that are not every candidate exactly once.
        foreign: answers that hold a memory of another call.
        fallbacks: by cause.
        failures: what came instead of an answer, by kind.
        over_ms: return minus deadline of each call.
        own_ms: the same with the loop's lag taken off.
    """

    expected: int
    answered: int = 0
    by_model: int = 0
    left: int = 0
    invalid: int = 0
    foreign: int = 0
    fallbacks: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    over_ms: list[float] = field(default_factory=list)
    own_ms: list[float] = field(default_factory=list)

    @property
    def unanswered(self) -> int:
        """Calls without an answer: raised, hung, or never heard of again."""
        return self.expected - self.answered - self.left


def tally(calls: Iterable[Call], expected: int) -> Tally:
    """Count calls.

    Args:
        calls: as recorded; one that comes twice counts once.
        expected: how many were made.
    """
    found = Tally(expected)
    seen: set[str] = set()
    for call in calls:
        if call.id in seen:
            continue
        seen.add(call.id)
        found.over_ms.append(call.over_ms)
        found.own_ms.append(call.over_ms - max(call.lag_ms, 0.0))
        if call.left:
            found.left += 1
            continue
        if not call.answered:
            found.failures[call.cause] += 1
            continue
        found.answered += 1
        found.invalid += not valid(call)
        found.foreign += any(not one.startswith(f"{call.id}.") for one in call.ranked)
        if call.by_model:
            found.by_model += 1
        else:
            found.fallbacks[call.cause] += 1
    return found


def valid(call: Call) -> bool:
    """Whether every candidate came back, each once, and nothing else."""
    return sorted(call.ranked) == sorted(f"{call.id}.{at}" for at in range(call.candidates))


def quantile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that this share of all values does not pass; None without values."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)] if ordered else None


def share(part: float, whole: float) -> float | None:
    """A part of a whole; None of nothing."""
    return part / whole if whole else None


def always(found: Tally, *, over_ms: float = OVER_MS) -> list[Check]:
    """What holds in every scenario."""
    return [
        Check("calls without an answer", found.unanswered, 0),
        Check("invalid rankings", found.invalid, 0),
        Check("answers that hold another call's memories", found.foreign, 0),
        Check("return after the deadline at p99.9, ms", quantile(found.own_ms, 0.999), over_ms),
    ]
