"""What a caller process is told to do."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

# What a caller may be told to do wrong, so that a check is seen to fail.
LEAK_FAULT = "leak"
CALLER_FAULTS = ("unanswered", "invalid", "foreign", "late", LEAK_FAULT)


@dataclass(frozen=True, slots=True)
class Plan:
    """One caller process. Either `rates` or `callers` says how it calls.

    Attributes:
        name: begins the ids of its calls.
        seed: of its arrivals and pauses.
        secret: planted in every text.
        redis_url: what its `Reranker` connects to.
        queue: the Redis list.
        dsn: where its Sentry sends to.
        folder: where it keeps its record, and where it is told to go.
        rates: (calls per second, seconds), one after another; arrivals are a Poisson process, whatever comes
            back, as they are from users who do not know of each other.
        callers: so many tasks that call, think, and call again.
        calls: by all `callers` together.
        think_s: mean of the exponential pause between two calls of one of `callers`.
        deadline_ms: of each call.
        candidates: memories per call.
        leave_ms: every other call goes away after so long, if it has no answer by then; 0 for none.
        burn_ms: how long the loop is blocked every 100 ms, as by a busy frontend.
        fault: one of `CALLER_FAULTS`, or empty.
    """

    name: str
    seed: int
    secret: str
    redis_url: str
    queue: str
    dsn: str
    folder: str
    rates: tuple[tuple[float, float], ...] = ()
    callers: int = 0
    calls: int = 0
    think_s: float = 0.0
    deadline_ms: int = 400
    candidates: int = 6
    leave_ms: float = 0.0
    burn_ms: float = 0.0
    fault: str = ""

    @property
    def expected(self) -> int:
        """How many calls it makes."""
        return self.calls if self.callers else sum(int(rate * seconds) for rate, seconds in self.rates)

    def dump(self) -> str:
        """For a command line."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def load(cls, text: str) -> Plan:
        """Read what `dump` wrote."""
        told = json.loads(text)
        return cls(**{**told, "rates": tuple((rate, seconds) for rate, seconds in told["rates"])})
