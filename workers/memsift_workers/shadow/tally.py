"""What shadow mode found, as counts and sums in one Redis hash: no text, no ids, no users.

Latencies are counted in buckets that grow by 10%, so that any percentile is known to 5% (DDSketch: Masson et
al. 2019, https://arxiv.org/abs/1908.10693).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from memsift_schemas.result import RerankResult
from memsift_workers.shadow.agreement import Agreement

# What became of copies. Dropped is what was sent, was not ranked, and does not wait any more.
SENT, GAVE_WAY, UNREADABLE = "sent", "gave_way", "unreadable"
# Among the failures: the ranker can never work. No copy was lost by it.
MISCONFIGURED = "misconfigured"
JOBS = "jobs"
LIVE_MS, SHADOW_MS = "live_ms", "shadow_ms"
GROWTH = 1.1
# An idle comparison is forgotten after this.
KEPT_S = 35 * 86_400

Name = tuple[str, ...]
"""The parts of a field's name: `("count", what)`, `("failed", cause)` or a pair's names and a measure."""


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """Who was compared: live and shadow, each with ranker, model and prompt version."""

    live: tuple[str, str, str]
    shadow: tuple[str, str, str]


@dataclass(slots=True)
class Compared:
    """The sums of one pair.

    Attributes:
        sums: of each measure of `Agreement`, of its square as `<measure>^2`, and the count as `jobs`.
        buckets: `live_ms` and `shadow_ms` -> bucket -> jobs.
    """

    sums: dict[str, float] = field(default_factory=dict)
    buckets: dict[str, dict[int, int]] = field(default_factory=dict)

    @property
    def jobs(self) -> int:
        """How many were compared."""
        return int(self.sums.get(JOBS, 0))

    def mean(self, measure: str) -> float:
        """The mean of a measure over all jobs."""
        return self.sums.get(measure, 0.0) / max(self.jobs, 1)

    def half_width(self, measure: str) -> float:
        """Half of the 95% interval of that mean, by its standard error."""
        jobs = max(self.jobs, 1)
        variance = max(self.sums.get(f"{measure}^2", 0.0) / jobs - self.mean(measure) ** 2, 0.0)
        return 1.96 * math.sqrt(variance / jobs)

    def percentile(self, which: str, share: float) -> float | None:
        """Milliseconds that this share of the jobs did not exceed; None without any."""
        counts = sorted(self.buckets.get(which, {}).items())
        left = share * sum(count for _, count in counts)
        for bucket, count in counts:
            left -= count
            if left <= 0:
                return centre_ms(bucket)
        return centre_ms(counts[-1][0]) if counts else None


@dataclass(slots=True)
class Tally:
    """All that was counted.

    Attributes:
        counts: `sent`, `gave_way`, `unreadable`.
        failed: cause -> copies that the shadow ranker could not rank.
        pairs: what was compared.
    """

    counts: dict[str, int] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    pairs: dict[Pair, Compared] = field(default_factory=dict)


def who(result: RerankResult) -> tuple[str, str, str]:
    """Who made a ranking."""
    return result.ranker, result.model, result.prompt_version


def bucket(ms: float) -> int:
    """The bucket of a latency; of less than a tenth of a millisecond, that one's."""
    return round(math.log(max(ms, 0.1)) / math.log(GROWTH))


def centre_ms(at: int) -> float:
    """A bucket's middle."""
    return GROWTH**at


def count(pipeline: Any, key: str, what: str, by: int = 1) -> None:
    """Put a count of copies into a pipeline."""
    _add(pipeline, key, ("count", what), by)


def fail(pipeline: Any, key: str, cause: str) -> None:
    """Put a failure of the shadow ranker into a pipeline."""
    _add(pipeline, key, ("failed", cause), 1)


def compare(
    pipeline: Any, key: str, pair: Pair, found: Agreement, *, live_ms: float | None, shadow_ms: float
) -> None:
    """Put one comparison into a pipeline.

    Args:
        pipeline: of Redis.
        key: the hash.
        pair: who was compared.
        found: how far they agree.
        live_ms: what the live ranker's batch took; None where that is not known.
        shadow_ms: what the shadow ranker took for this job alone.
    """
    names = (*pair.live, *pair.shadow)
    _add(pipeline, key, (*names, JOBS), 1)
    for measure, value in asdict(found).items():
        _add(pipeline, key, (*names, measure), float(value))
        _add(pipeline, key, (*names, f"{measure}^2"), float(value) ** 2)
    for which, ms in ((LIVE_MS, live_ms), (SHADOW_MS, shadow_ms)):
        if ms is not None:
            _add(pipeline, key, (*names, f"{which}:{bucket(ms)}"), 1)
    pipeline.expire(key, KEPT_S)


def read(fields: Mapping[bytes, bytes]) -> Tally:
    """Read the hash; what cannot be read, such as a later release's, is passed over."""
    tally = Tally()
    for name, value in _named(fields):
        match name:
            case ("count", what):
                tally.counts[what] = int(value)
            case ("failed", cause):
                tally.failed[cause] = int(value)
            case (a, b, c, d, e, f, measure):
                _take(tally.pairs.setdefault(Pair((a, b, c), (d, e, f)), Compared()), measure, value)
    return tally


def _take(compared: Compared, measure: str, value: float) -> None:
    which, colon, at = measure.partition(":")
    if colon:
        compared.buckets.setdefault(which, {})[int(at)] = int(value)
    else:
        compared.sums[measure] = value


def _named(fields: Mapping[bytes, bytes]) -> Iterator[tuple[Name, float]]:
    for raw, value in fields.items():
        try:
            name, number = orjson.loads(raw), float(value)
        except ValueError:
            continue
        if isinstance(name, list) and all(isinstance(part, str) for part in name):
            yield tuple(name), number


def _add(pipeline: Any, key: str, name: Name, value: float) -> None:
    field_name = orjson.dumps(name)
    if isinstance(value, int):
        pipeline.hincrby(key, field_name, value)
    else:
        pipeline.hincrbyfloat(key, field_name, value)
