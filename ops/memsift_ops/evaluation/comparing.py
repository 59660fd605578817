"""Two reports of `memsift eval --json` side by side: what got better or worse, and what is noise."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from memsift_ops.errors import Refused
from memsift_ops.evaluation.quality import METRICS


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class _Ranker(_Part):
    p_at_1: FiniteFloat | None
    p_at_3: FiniteFloat | None
    hit_at_3: FiniteFloat | None
    recall_at_5: FiniteFloat | None
    mrr: FiniteFloat | None
    ndcg_at_10: FiniteFloat | None
    ci95: dict[str, tuple[FiniteFloat, FiniteFloat] | None]


class Report(_Part):
    """As much of a report as a comparison needs."""

    sets: dict[str, dict[str, _Ranker]]
    in_sample: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric of one ranker on one set.

    Attributes:
        set: the set's name.
        ranker: the ranker's.
        metric: the metric's.
        before: its mean in the first report.
        after: its mean in the second one.
        difference: after minus before.
        noise: how large a difference may be by chance alone.
        is_noise: whether this one is within that.
    """

    set: str
    ranker: str
    metric: str
    before: float
    after: float
    difference: float
    noise: float
    is_noise: bool

    def as_json(self) -> dict[str, Any]:
        """The same, JSON-ready."""
        return asdict(self)


def read(path: Path) -> Report:
    """Read what `memsift eval --json` printed.

    Raises:
        Refused: the file is something else.
    """
    try:
        return Report.model_validate_json(path.read_bytes())
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror}") from None
    except ValidationError:
        raise Refused(f"{path} is no report of `memsift eval --json`") from None


def differences(before: Report, after: Report) -> list[Difference]:
    """Every metric that both reports have, in the order of the first one.

    A difference is noise when it is within sqrt(a² + b²), a and b being half the widths of the two 95%
    intervals: those of two independent samples (Cumming and Finch 2005). Two reports on the same questions
    are paired, for which this is cautious: it calls noise what a paired test might not.
    """
    found = []
    for name, rankers in before.sets.items():
        for ranker, old in rankers.items():
            new = after.sets.get(name, {}).get(ranker)
            if new is None:
                continue
            for metric in METRICS:
                one = _difference((name, ranker, metric), old, new)
                if one is not None:
                    found.append(one)
    return found


def only_in_one(before: Report, after: Report) -> list[str]:
    """What cannot be compared, as `set/ranker`."""
    old, new = (
        {f"{name}/{ranker}" for name, rankers in report.sets.items() for ranker in rankers}
        for report in (before, after)
    )
    return sorted(old ^ new)


def _difference(names: tuple[str, str, str], old: _Ranker, new: _Ranker) -> Difference | None:
    name, ranker, metric = names
    before, after = getattr(old, metric), getattr(new, metric)
    ends = [one.ci95.get(metric) for one in (old, new)]
    if before is None or after is None or None in ends:
        return None
    noise = math.hypot(*((high - low) / 2 for low, high in filter(None, ends)))
    difference = after - before
    return Difference(name, ranker, metric, before, after, difference, noise, abs(difference) <= noise)
