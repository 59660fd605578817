"""Results as JSON and as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from memsift_ops import console
from memsift_ops.planning import hardware
from memsift_ops.planning.capacity import Tried, usd_per_million
from memsift_ops.planning.request import Request
from memsift_ops.planning.simulate import Outcome

PERCENTILES = (50, 95, 99)
REMEDY = "Take a faster card, fp8 or shorter prompts, or raise --target-p99."
NUMBERS = ("cards", "cached", "busy", "p50 / p95 / p99", "late", "$/M")


def as_json(
    asked: Request, found: Mapping[str, Tried], shown: Mapping[str, int], target_ms: float
) -> dict[str, Any]:
    """Everything, for `--json`.

    Args:
        asked: the request.
        found: each row's.
        shown: the number of cards that a row is told for, where there is one.
        target_ms: for the 99th percentile.
    """
    return {
        "asked": _request(asked),
        "target_p99_ms": target_ms,
        "rows": {name: _row(tried, shown.get(name)) for name, tried in found.items()},
    }


def _request(request: Request) -> dict[str, Any]:
    card, model = request.card, request.model
    return {
        "card": card.model_dump(),
        "model": model.model_dump(),
        "weights": request.weights,
        "kv": request.kv,
        "layout": request.layout,
        "affinity": request.affinity,
        "prompt": asdict(request.prompt),
        "calls_per_day": request.calls_per_day,
        "peak": request.peak,
        "calls_per_s": request.traffic.calls_per_s,
        "users": request.users,
        "turns": request.turns,
        "think_s": request.think_s,
        "sessions": request.traffic.sessions,
        "efficiency": asdict(request.efficiency),
        "batching": asdict(request.batching) | {"deadline_s": request.deadline_s},
        "spill_at": request.spill_at,
        "seed": request.seed,
    }


def _row(tried: Tried, cards: int | None) -> dict[str, Any]:
    request = tried.request
    told: dict[str, Any] = {
        "layout": request.layout,
        "affinity": request.affinity,
        "weights": request.weights,
        "kv": request.kv,
        "cold_call_ms": request.cold_ms(),
        "warm_call_ms": request.warm_ms(),
        "cache_tokens_a_card": request.room,
        "needed_cards": tried.needed,
        "why_none": tried.why or None,
        "result": None,
    }
    if cards is not None:
        told["result"] = outcome(request, tried.outcomes[cards])
    return told


def outcome(request: Request, found: Outcome) -> dict[str, Any]:
    """One simulation in numbers."""
    return {
        "cards": found.cards,
        "hit_ratio": found.hit_ratio,
        "utilisation": found.utilisation,
        "latency_ms": {f"p{percent}": found.percentile_ms(percent) for percent in PERCENTILES},
        "late": found.late,
        "batch": found.batch,
        "usd_per_million": usd_per_million(request, found.cards),
        "calls": found.calls,
        "warm_up_calls": found.warm_up,
    }


def cells(tried: Tried, cards: int | None) -> list[str]:
    """A row's numbers as text, in the order of `NUMBERS`."""
    if cards is None:
        return ["-"] * len(NUMBERS)
    told = outcome(tried.request, tried.outcomes[cards])
    usd = told["usd_per_million"]
    return [
        f"{cards:,}",
        f"{told['hit_ratio']:.0%}",
        f"{told['utilisation']:.0%}",
        " / ".join(_milliseconds(waited, tried.request) for waited in told["latency_ms"].values()),
        f"{told['late']:.1%}",
        "-" if usd is None else f"{usd:,.0f}",
    ]


def _milliseconds(value: float, request: Request) -> str:
    """Callers wait no longer than the deadline: what reaches it would have taken longer."""
    return f"{'≥' if value >= request.batching.deadline_s * 1e3 else ''}{value:.0f}"


def table(asked: Request, found: Mapping[str, Tried], shown: Mapping[str, int]) -> Table:
    """The rows, that of the request marked."""
    drawn = Table(box=box.SIMPLE, header_style="dim", pad_edge=False)
    drawn.add_column("")
    for name in NUMBERS:
        drawn.add_column(name, justify="right", no_wrap=True)
    for name, tried in found.items():
        is_asked = tried.request == asked
        style = "bold" if is_asked else None
        mark = "▸ " if is_asked else "  "
        drawn.add_row(mark + escape(name), *cells(tried, shown.get(name)), style=style)
    return drawn


def hardware_table() -> Table:
    """The cards and models that are known, with their sources."""
    drawn = Table(box=box.ROUNDED, header_style="dim")
    for name in ("card", "GB", "GB/s", "bf16", "fp8 TFLOPS", "$/hour", "source"):
        drawn.add_column(name, justify="left" if name in ("card", "source") else "right")
    for card in hardware.cards():
        usd = "-" if card.usd_per_hour is None else f"{card.usd_per_hour:.2f}"
        fp8 = "-" if card.fp8_tflops is None else f"{card.fp8_tflops:g}"
        sizes = (f"{card.memory_gb:g}", f"{card.bandwidth_gb_s:g}", f"{card.bf16_tflops:g}", fp8, usd)
        drawn.add_row(card.name, *sizes, card.source)
    return drawn


def model_table() -> Table:
    """The models that are known, with their sources."""
    drawn = Table(box=box.ROUNDED, header_style="dim")
    for name in ("model", "parameters", "KV KiB a token, bf16", "source"):
        drawn.add_column(name, justify="left" if name in ("model", "source") else "right")
    for model in hardware.models():
        parameters = model.layer_parameters + model.embedding_parameters
        drawn.add_row(
            model.name, f"{parameters / 1e9:.2f} B", f"{model.kv_elements * 2 / 1024:g}", model.source
        )
    return drawn


def tell(
    asked: Request, found: Mapping[str, Tried], shown: Mapping[str, int], target_ms: float | None
) -> None:
    """Print the answer for people.

    Args:
        asked: the request.
        found: each row's.
        shown: the number of cards that a row is told for, where there is one.
        target_ms: for the 99th percentile; None when the number of cards was given.
    """
    out = console.stdout()
    out.print(escape(load(asked)))
    out.print(table(asked, found, shown))
    for name, tried in found.items():
        if tried.why:
            out.print(escape(f"{name}: no number of cards meets the target, {tried.why}. {REMEDY}"))
    out.print(escape(legend(found, shown, target_ms)), style="dim")


def load(asked: Request) -> str:
    """The load and the hardware in a few sentences."""
    traffic = asked.traffic
    return (
        f"{asked.calls_per_day:,.0f} calls a day, {traffic.calls_per_s:,.1f}/s in the busiest hour "
        f"({asked.peak:g} times the mean), {traffic.sessions:,.0f} sessions under way. "
        f"{asked.model.name} ({asked.weights}, KV {asked.kv}) on {asked.card.name}, "
        f"{asked.card.memory_gb:g} GB: a session's first call takes {asked.cold_ms():.0f} ms alone, "
        f"its second {asked.warm_ms():.0f} if the first is still cached; "
        f"the cache holds {asked.room:,} tokens."
    )


def legend(found: Mapping[str, Tried], shown: Mapping[str, int], target_ms: float | None) -> str:
    """What the columns mean, and how much was simulated."""
    outcomes = [tried.outcomes[shown[name]] for name, tried in found.items() if name in shown]
    counted = (
        f" {min(one.calls for one in outcomes):,} calls counted a row, after a warm-up." if outcomes else ""
    )
    cards = "given" if target_ms is None else f"the fewest with p99 within {target_ms:g} ms"
    deadline_s = next(iter(found.values())).request.deadline_s
    late = (
        ""
        if deadline_s is None
        else (f"≥ {deadline_s * 1e3:g}: up to the deadline. late: the prefilter answered at the deadline. ")
    )
    return (
        f"cards: {cards}. cached: prompt tokens from the cache. busy: share of the time that cards compute. "
        f"p50, p95, p99: milliseconds that callers wait. {late}"
        f"$/M: a million calls, cards paid for all day.{counted}"
    )
