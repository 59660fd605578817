"""The memory hit rate, as Redis holds its counts: by ranker, model and prompt version, hour by hour."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memsift_ops import metrics, services
from memsift_schemas.errors import InvalidInput
from memsift_schemas.hits import HOUR_S, KEPT_S, WHATS, Hits, Series, What, summed
from memsift_schemas.keys import hits_key

_SPAN = re.compile(r"(\d{1,5})([hd])")
_SECONDS = {"h": HOUR_S, "d": 86_400}
RATES: tuple[What, ...] = ("any", "all")


@dataclass(frozen=True, slots=True)
class HitRates:
    """What was read.

    Attributes:
        since_s: how far back.
        hours: hour (unix seconds / 3600), oldest first -> that hour's counts; hours without any are left out.
        series: of all hours together.
    """

    since_s: int
    hours: Mapping[int, Mapping[Series, Hits]]
    series: Mapping[Series, Hits]

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "since_s": self.since_s,
            "series": [{**_named(series), **numbers(hits)} for series, hits in self.series.items()],
            "hours": [
                {
                    "hour": hour * HOUR_S,
                    **_named(series),
                    **{what: hits[what] for what in WHATS},
                }
                for hour, found in self.hours.items()
                for series, hits in found.items()
            ],
        }


def read(url: str, queue: str, *, since_s: int) -> HitRates:
    """Read the counts.

    Args:
        url: the Redis server.
        queue: whose calls.
        since_s: seconds back from now; whole hours are read.

    Raises:
        RedisError: Redis is away.
        SettingsError: the URL cannot be read.
    """
    with services.client(url) as client:
        now_s, _ = client.time()
        return read_by(client, queue, now_s=now_s, since_s=since_s)


def read_by(client: Any, queue: str, *, now_s: float, since_s: int) -> HitRates:
    """The same by a client that is there, for exporters of metrics.

    Raises:
        RedisError: Redis is away.
    """
    last = int(now_s // HOUR_S)
    hours = range(last - (since_s - 1) // HOUR_S, last + 1)
    pipeline = client.pipeline(transaction=False)
    for hour in hours:
        pipeline.hgetall(hits_key(queue, hour))
    found = {hour: fields for hour, fields in zip(hours, pipeline.execute(), strict=True) if fields}
    return HitRates(since_s, {hour: summed({hour: fields}) for hour, fields in found.items()}, summed(found))


def span(text: str) -> int:
    """Seconds of a span such as `24h` or `7d`.

    Raises:
        InvalidInput: it is none, or longer than counts are kept.
    """
    found = _SPAN.fullmatch(text.strip())
    seconds = int(found[1]) * _SECONDS[found[2]] if found else 0
    if not 0 < seconds <= KEPT_S:
        raise InvalidInput(f"write a span such as 24h or 7d, at most {KEPT_S // 86_400}d")
    return seconds


def numbers(hits: Hits) -> dict[str, Any]:
    """Counts, and of each rate share and 95% interval; None where no call named a right memory."""
    right = hits["right"]
    found: dict[str, Any] = {"told": hits["told"], "right": right}
    for what in RATES:
        found[what] = hits[what]
        found[f"{what}_rate"] = hits[what] / right if right else None
        found[f"{what}_interval"] = metrics.wilson_interval(hits[what], right) if right else None
    return found


def _named(series: Series) -> dict[str, str]:
    return {"ranker": series.ranker, "model": series.model, "prompt_version": series.prompt_version}
