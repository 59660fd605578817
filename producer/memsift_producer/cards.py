"""What each worker says of itself once a second, as far as a frontend cares."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class Card:
    """A worker that is present.

    Attributes:
        key: where Redis keeps the card; it dies with its worker.
        jobs_per_s: what the worker gets done at capacity; 0 when it does not know.
        batch_s: what its batches take; 0 when it does not know.
        limit: how many jobs it may have under way; 0 when it does not say.
        runtime: the name of the runtime whose own list it drains; empty when it drains the queue alone.
        paused: whether an operator has paused it: it takes nothing.
        serves: the rankers that a job may name, its default first; an older worker names that one alone.
        model: the model of its default ranker; empty when it does not say.
    """

    key: str
    jobs_per_s: float = 0.0
    batch_s: float = 0.0
    limit: int = 0
    runtime: str = ""
    paused: bool = False
    serves: tuple[str, ...] = ()
    model: str = ""


def read_card(key: str, raw: bytes | str | None) -> Card:
    """Read one; what is missing or makes no sense is not known."""
    said = _object(raw)
    serves = said.get("serves")
    names = serves if isinstance(serves, list) else [said.get("ranker")]
    runtime, model = said.get("own"), said.get("model")
    return Card(
        key,
        jobs_per_s=_positive(said.get("jobs_per_s")),
        batch_s=_positive(said.get("batch_ms")) / 1e3,
        limit=int(_positive(said.get("limit"))),
        runtime=runtime if isinstance(runtime, str) else "",
        paused=said.get("paused") is True,
        serves=tuple(name for name in names if isinstance(name, str)),
        model=model if isinstance(model, str) else "",
    )


def throughput(cards: Collection[Card]) -> float:
    """What these workers get done together, jobs per second; 0 when none of them knows.

    One that has not been full yet counts like the mean of those that have.
    """
    known = [card.jobs_per_s for card in cards if card.jobs_per_s]
    return sum(known) / len(known) * len(cards) if known else 0.0


def _object(raw: bytes | str | None) -> dict[str, Any]:
    try:
        card = orjson.loads(raw or b"{}")
    except orjson.JSONDecodeError:
        return {}
    return card if isinstance(card, dict) else {}


def _positive(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and value > 0 else 0.0
