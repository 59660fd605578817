"""Names of rankers in a report: `jev`, the chain `jev>local`, and `jev>local[listwise]` with a strategy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import get_args

from memsift_schemas.settings import WorkerSettings

WITH_STRATEGY = "local"
STRATEGIES: tuple[str, ...] = get_args(WorkerSettings.model_fields["strategy"].annotation)
_STRATEGY = re.compile(r"\[(\w+)\]")


def asked(ranker: str) -> str:
    """The name by which a job asks for it: without strategy, which is the worker's."""
    return _STRATEGY.sub("", ranker)


def parts(ranker: str) -> list[str]:
    """The rankers of a chain, without strategies."""
    return asked(ranker).split(">")


def strategy(ranker: str) -> str | None:
    """The strategy that its name tells."""
    found = _STRATEGY.search(ranker)
    return found and found[1]


def with_strategies(rankers: Sequence[str], strategies: Sequence[str]) -> list[str]:
    """Every ranker of which `local` is a part once for each strategy, the others as they are."""
    return [
        name
        for ranker in rankers
        for name in (
            [_named(ranker, one) for one in strategies] if WITH_STRATEGY in parts(ranker) else [ranker]
        )
    ]


def by_strategy(rankers: Iterable[str]) -> dict[str | None, list[str]]:
    """Rankers grouped by strategy, those without one last: one worker serves one strategy."""
    groups: dict[str | None, list[str]] = {}
    for ranker in sorted(rankers, key=lambda ranker: strategy(ranker) is None):
        groups.setdefault(strategy(ranker), []).append(ranker)
    return groups


def _named(ranker: str, strategy: str) -> str:
    return ">".join(f"{part}[{strategy}]" if part == WITH_STRATEGY else part for part in ranker.split(">"))
