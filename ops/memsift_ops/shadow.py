"""What shadow mode found: read from Redis, put in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memsift_ops import metrics, services
from memsift_schemas.keys import shadow_key, shadow_tally_key
from memsift_workers.shadow import tally
from memsift_workers.shadow.tally import LIVE_MS, SHADOW_MS, Compared, Pair, Tally

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
# Of these a job has it or has it not.
SHARES = ("first", "first_in_picks", "same_picks")
MEANS = ("top3", "tau", "rbo")


@dataclass(frozen=True, slots=True)
class ShadowReport:
    """What was counted since the last reset.

    Attributes:
        found: the counts.
        waiting: copies that wait now.
    """

    found: Tally
    waiting: int

    @property
    def sent(self) -> int:
        """Copies that workers made."""
        return self.found.counts.get(tally.SENT, 0)

    @property
    def failed(self) -> int:
        """Copies that the shadow ranker could not rank."""
        return sum(self.found.failed.values()) - self.found.failed.get(tally.MISCONFIGURED, 0)

    @property
    def dropped(self) -> int:
        """Copies that no worker had the time for: given up for a batch, too many, or too old."""
        compared = sum(one.jobs for one in self.found.pairs.values())
        unreadable = self.found.counts.get(tally.UNREADABLE, 0)
        return max(self.sent - compared - self.failed - unreadable - self.waiting, 0)

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "sent": self.sent,
            "waiting": self.waiting,
            "dropped": self.dropped,
            "gave_way": self.found.counts.get(tally.GAVE_WAY, 0),
            "unreadable": self.found.counts.get(tally.UNREADABLE, 0),
            "failed": self.found.failed,
            "pairs": [_pair(pair, one) for pair, one in sorted(self.found.pairs.items())],
        }


def read(url: str, queue: str) -> ShadowReport:
    """Read what was counted.

    Raises:
        RedisError: Redis is away.
        SettingsError: the URL cannot be read.
    """
    with services.client(url) as client:
        fields = client.hgetall(shadow_tally_key(queue))
        return ShadowReport(tally.read(fields), client.llen(shadow_key(queue)))


def reset(url: str, queue: str) -> bool:
    """Begin to count anew.

    Returns:
        Whether there was anything.

    Raises:
        RedisError: Redis is away, or its user may not.
        SettingsError: the URL cannot be read.
    """
    with services.client(url) as client:
        return bool(client.delete(shadow_tally_key(queue)))


def sentence(pair: Pair, compared: Compared) -> str:
    """What it comes to, in words."""
    live, shadow = pair.live[0], pair.shadow[0]
    if live == shadow:
        live, shadow = (" ".join(filter(None, who)) for who in (pair.live, pair.shadow))
    low, high = interval(compared, "first")
    said = (
        f"{shadow} puts the same memory first as {live} in {compared.mean('first'):.0%} "
        f"of {compared.jobs:,} jobs ({low:.0%} to {high:.0%}) and picks the same memories in "
        f"{compared.mean('same_picks'):.0%}; of their first three, {3 * compared.mean('top3'):.1f} are common"
    )
    took, live_took = compared.percentile(SHADOW_MS, 0.5), compared.percentile(LIVE_MS, 0.5)
    if took is not None and live_took is not None:
        said += (
            f". Half of the jobs took it up to {took:.3g} ms, and {live} up to {live_took:.3g} ms in a batch"
        )
    return said + "."


def interval(compared: Compared, measure: str) -> tuple[float, float]:
    """The 95% interval of a mean: Wilson's for shares, else by the standard error."""
    if measure in SHARES:
        return metrics.wilson_interval(round(compared.sums.get(measure, 0.0)), max(compared.jobs, 1))
    mean, half = compared.mean(measure), compared.half_width(measure)
    return mean - half, mean + half


def _pair(pair: Pair, compared: Compared) -> dict[str, Any]:
    names = ("ranker", "model", "prompt_version")
    return {
        "live": dict(zip(names, pair.live, strict=True)),
        "shadow": dict(zip(names, pair.shadow, strict=True)),
        "jobs": compared.jobs,
        "agreement": {
            name: {"mean": compared.mean(name), "interval": list(interval(compared, name))}
            for name in (*SHARES, *MEANS)
        },
        "ms": {
            who: {name: compared.percentile(which, share) for name, share in PERCENTILES.items()}
            for who, which in (("live", LIVE_MS), ("shadow", SHADOW_MS))
        },
        "sentence": sentence(pair, compared),
    }
