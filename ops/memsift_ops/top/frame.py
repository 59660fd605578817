"""One look at the whole, and what changed since the look before."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from memsift_ops.status import Status

# Of a card's causes: an answer by the model, and what nobody waited for.
RANKED = "ranked"
_UNWANTED = ("cancelled", "warm_")


@dataclass(frozen=True, slots=True)
class Row:
    """One worker, as far as its card tells; an older release's tells less.

    Attributes:
        name: Celery's.
        ranker: its default one.
        state: `paused` or `drains`.
        rate: jobs that ended, a second, over its last 10 s.
        capacity: jobs a second when it was last full.
        ranking: jobs that its rankers are asked about now.
        limit: how many they may be.
        fill: mean share of a full batch.
        latency_ms: `p50`, `p95`, `p99` from sending to reply, of its last 10 s.
        cached: share of prompt tokens that came from the cache, since its start.
        causes: what became of its jobs since its start.
    """

    name: str
    ranker: str
    state: str
    rate: float | None
    capacity: float | None
    ranking: int | None
    limit: int | None
    fill: float | None
    latency_ms: dict[str, float]
    cached: float | None
    causes: dict[str, int]

    @property
    def lost(self) -> float | None:
        """Which part of the jobs that somebody waited for fell back."""
        wanted = {one: count for one, count in self.causes.items() if not one.startswith(_UNWANTED)}
        jobs = sum(wanted.values())
        return 1 - wanted.get(RANKED, 0) / jobs if jobs else None


@dataclass(frozen=True, slots=True)
class Frame:
    """All of it.

    Attributes:
        at: unix seconds on this machine.
        status: queue, breaker and troubles.
        rows: the workers.
        changes: what became of jobs since the frame before, a second; None for the first frame.
    """

    at: float
    status: Status
    rows: tuple[Row, ...]
    changes: dict[str, float] | None = None

    @property
    def rate(self) -> float:
        """Jobs a second of all workers."""
        return sum(row.rate or 0.0 for row in self.rows)

    @property
    def causes(self) -> Counter[str]:
        """What became of the jobs of the workers that are present, since each one's start."""
        return sum((Counter(row.causes) for row in self.rows), Counter[str]())

    @property
    def slowest(self) -> Row | None:
        """The worker with the highest 99th percentile; those of several workers cannot be joined."""
        timed = [row for row in self.rows if row.latency_ms]
        return max(timed, key=lambda row: row.latency_ms.get("p99", 0.0), default=None)

    def as_json(self) -> dict[str, Any]:
        """For `--json`: what `memsift status --json` tells, with the time, and what changed."""
        return {
            "time": self.at,
            **self.status.as_json(),
            "rate": self.rate,
            "causes": dict(self.causes),
            "causes_per_s": self.changes,
        }


@dataclass(slots=True)
class Looks:
    """Makes frames of what was read one after another."""

    _causes: dict[str, dict[str, int]] = field(default_factory=dict)
    _at: float | None = None

    def frame(self, status: Status, at: float | None = None) -> Frame:
        """The next one.

        Args:
            status: what was read.
            at: unix seconds; now by default.
        """
        at = time.time() if at is None else at
        rows = tuple(_row(name, card) for name, card in sorted(status.workers.items()))
        changes = None
        if self._at is not None and at > self._at:
            ended = sum((self._ended(row) for row in rows), Counter[str]())
            changes = {cause: count / (at - self._at) for cause, count in sorted(ended.items())}
        self._causes, self._at = {row.name: row.causes for row in rows}, at
        return Frame(at, status, rows, changes)

    def _ended(self, row: Row) -> Counter[str]:
        """Since the look before; a worker that was restarted meanwhile began to count anew."""
        before = self._causes.get(row.name)
        if before is None:
            return Counter()
        again = any(row.causes.get(cause, 0) < count for cause, count in before.items())
        return Counter(row.causes) if again else Counter(row.causes) - Counter(before)


def _row(name: str, card: dict[str, Any]) -> Row:
    cache = card.get("cache")
    tokens = cache.get("prompt_tokens") if isinstance(cache, dict) else None
    return Row(
        name=name,
        ranker=str(card.get("ranker", "?")),
        state="paused" if card.get("paused") is True else "drains",
        rate=_number(card.get("rate")),
        capacity=_number(card.get("jobs_per_s")),
        ranking=_whole(card.get("ranking")),
        limit=_whole(card.get("limit")),
        fill=_number(card.get("fill")),
        latency_ms=_numbers(card.get("latency_ms")),
        cached=cache["cached_tokens"] / tokens if isinstance(cache, dict) and tokens else None,
        causes={cause: int(count) for cause, count in _numbers(card.get("causes")).items()},
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(number)


def _numbers(value: Any) -> dict[str, float]:
    if not isinstance(value, dict):
        return {}
    return {name: number for name, one in value.items() if (number := _number(one)) is not None}
