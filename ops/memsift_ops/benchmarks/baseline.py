"""Ratios that later changes are held against: committed, of ratios and never of times."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memsift_ops.errors import Refused

FILE = Path(__file__).with_name("baseline.toml")
# A ratio of one run may lie so far below another's on a machine that does other things too: at least.
LEAST_NOISE = 0.25
HEAD = """# How many times memsift's numbers others' are, by `memsift bench check --write`; larger is better.
# `noise` is the part by which a ratio may be smaller before `memsift bench check` fails.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One ratio beside its baseline.

    Attributes:
        name: such as `saq, 200 jobs/s: worker_cpu_us`.
        expected: of the baseline.
        least: below it is worse than noise explains.
        found: now, the best of all tries; None where it was not measured.
    """

    name: str
    expected: float
    least: float
    found: float | None

    @property
    def worse(self) -> bool:
        """Whether it got worse; what is no longer measured has."""
        return self.found is None or self.found < self.least


def read(path: Path) -> dict[str, dict[str, float]]:
    """The baseline: name -> `ratio` and `noise`.

    Raises:
        Refused: the file is none.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{path}: {error}") from None
    if not table or not all(
        isinstance(one, dict) and {"ratio", "noise"} <= one.keys() for one in table.values()
    ):
        raise Refused(f"{path}: is no baseline, each entry needs `ratio` and `noise`")
    return table


def written(ratios: Mapping[str, Any]) -> str:
    """A baseline of what was measured now, as TOML.

    The noise is twice the part by which the smallest round lay below the median, at least `LEAST_NOISE`.
    """
    lines = []
    for name, ratio in flat(ratios):
        noise = min(max(LEAST_NOISE, 2 * (1 - ratio["least"] / ratio["median"])), 0.9)
        lines.append(f'["{name}"]\nratio = {ratio["median"]:.2f}\nnoise = {noise:.2f}\n')
    return HEAD + "\n" + "\n".join(lines)


def judge(baseline: Mapping[str, Mapping[str, float]], tries: Sequence[Mapping[str, Any]]) -> list[Verdict]:
    """Hold what was measured against the baseline.

    Args:
        baseline: what `read` gives.
        tries: the ratios of each. What else the machine did makes some of them worse; a change for the worse
            is in all of them.
    """
    found: dict[str, float] = {}
    for name, ratio in itertools.chain.from_iterable(map(flat, tries)):
        found[name] = max(ratio["median"], found.get(name, 0.0))
    return [
        Verdict(name, one["ratio"], one["ratio"] * (1 - one["noise"]), found.get(name))
        for name, one in baseline.items()
    ]


def flat(ratios: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, float]]]:
    """The ratios of CPU by name: latencies on a machine that is busy tell of that machine."""
    for system, each in ratios.items():
        for load, one in each.items():
            if load == "jobs_per_worker_core":
                yield f"{system}, backlog: {load}", one
                continue
            for number, ratio in one.items():
                if number.endswith("_cpu_us"):
                    yield f"{system}, {load} jobs/s: {number}", ratio
