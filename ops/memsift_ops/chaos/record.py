"""What became of each call: one JSON line, written by the caller, read by the checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

# The cause of a call that its caller gave up before it was answered.
LEFT = "left"


@dataclass(frozen=True, slots=True)
class Call:
    """One `rerank()` call.

    Attributes:
        id: `<caller>-<number>`; its memories are `<id>.0`, `<id>.1`, ...
        candidates: how many memories it gave.
        started: unix seconds when it was made.
        ended: unix seconds when it returned, or was given up.
        ranked: ids that came back, ranking and pruned together.
        source: `model` or `prefilter`; empty when nothing came back.
        cause: why the prefilter answered; for nothing the exception's name, `hung` or `left`; empty for
            `model`.
        over_ms: return minus deadline, below 0 for a return in time; of a call that left, minus that moment.
        lag_ms: how late a task came back that only waited for the same deadline on the same loop.
    """

    id: str
    candidates: int
    started: float
    ended: float
    ranked: tuple[str, ...]
    source: str
    cause: str
    over_ms: float
    lag_ms: float

    @property
    def answered(self) -> bool:
        """Whether a ranking came back."""
        return self.source != ""

    @property
    def left(self) -> bool:
        """Whether nobody waited for an answer any more."""
        return not self.answered and self.cause == LEFT

    @property
    def by_model(self) -> bool:
        """Whether the model made it."""
        return self.source == "model"

    def to_line(self) -> bytes:
        """As a line; own ids become their numbers, which makes a million of them 60 MB."""
        own = f"{self.id}."
        ranked = [int(one[len(own) :]) if _is_own(one, own) else one for one in self.ranked]
        row = (
            *(self.id, self.candidates, round(self.started, 4), round(self.ended, 4), ranked),
            *(self.source, self.cause, round(self.over_ms, 2), round(self.lag_ms, 2)),
        )
        return orjson.dumps(row) + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Call:
        """Read what `to_line` wrote."""
        call, candidates, started, ended, ranked, source, cause, over_ms, lag_ms = orjson.loads(line)
        ids = tuple(f"{call}.{one}" if isinstance(one, int) else one for one in ranked)
        return cls(call, candidates, started, ended, ids, source, cause, over_ms, lag_ms)


def _is_own(one: str, own: str) -> bool:
    place = one.removeprefix(own)
    return one.startswith(own) and place.isascii() and place.isdigit() and str(int(place)) == place


def read(files: Iterable[Path]) -> Iterator[Call]:
    """All calls in these files; a last line that a killed process left unfinished is passed over."""
    for path in files:
        with path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    yield Call.from_line(line)
