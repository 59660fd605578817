"""The report of a plan: one HTML file, or its pictures as one SVG; no script, and nothing from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsift_ops.evaluation import plots
from memsift_ops.evaluation.markup import Markup, tag
from memsift_ops.evaluation.page import sheet, whole
from memsift_ops.planning import pictures, telling
from memsift_ops.planning.capacity import Tried
from memsift_ops.planning.request import Request

Cards = Mapping[str, int]


def page(asked: Request, found: Mapping[str, Tried], shown: Cards, target_ms: float) -> str:
    """The whole page.

    Args:
        asked: the request.
        found: each row's.
        shown: the number of cards that a row is told for, where there is one.
        target_ms: for the 99th percentile.
    """
    drawn = [
        tag("figure", tag("figcaption", title), picture, class_="card")
        for title, picture in _pictures(found, shown, target_ms)
    ]
    reasons = [
        tag("p", f"{name}: no number of cards meets the target, {tried.why}. {telling.REMEDY}")
        for name, tried in found.items()
        if tried.why
    ]
    return whole(
        "memsift plan",
        tag("h1", "How many cards?"),
        tag("p", _answer(asked, found, shown, target_ms), class_="conclusion"),
        tag("p", telling.load(asked)),
        _table(found, shown),
        *reasons,
        tag("div", *drawn, class_="cards"),
        tag("p", telling.legend(found, shown, target_ms)),
        tag("footer", _footer(asked)),
    )


def picture(asked: Request, found: Mapping[str, Tried], shown: Cards, target_ms: float) -> str:
    """The pictures in one SVG file."""
    return sheet(telling.load(asked), _pictures(found, shown, target_ms))


def _pictures(found: Mapping[str, Tried], shown: Cards, target_ms: float) -> list[tuple[str, Markup]]:
    times = {
        name: (tried.outcomes[shown[name]].waits_s * 1e3).tolist() if name in shown else []
        for name, tried in found.items()
    }
    numbers: dict[str, dict[str, Any]] = {name: {} for name in found}
    for name in shown:
        numbers[name] = telling.outcome(found[name].request, found[name].outcomes[shown[name]])
    drawn = {
        "Cards": pictures.cards(found, shown),
        "p99 by the number of cards": pictures.waiting(found, target_ms),
        "Prompt tokens from the cache": pictures.caching(found),
        "What callers wait": plots.latency("calls", numbers, times),
    }
    return [(title, one) for title, one in drawn.items() if one is not None]


def _answer(asked: Request, found: Mapping[str, Tried], shown: Cards, target_ms: float) -> str:
    name = next(name for name, tried in found.items() if tried.request == asked)
    if name not in shown:
        return f"No number of cards keeps p99 within {target_ms:g} ms: {found[name].why}."
    told = telling.outcome(asked, found[name].outcomes[shown[name]])
    usd = told["usd_per_million"]
    price = "" if usd is None else f", ${usd:,.2f} a million calls"
    return (
        f"{told['cards']:,} cards: p99 {told['latency_ms']['p99']:.0f} ms, {told['hit_ratio']:.0%} of the "
        f"prompt tokens from the cache, {told['utilisation']:.0%} busy in the busiest hour{price}."
    )


def _table(found: Mapping[str, Tried], shown: Cards) -> Markup:
    heads = [tag("th", name, scope="col") for name in ("", *telling.NUMBERS)]
    rows = [
        tag(
            "tr",
            tag("th", tag("span", class_=f"swatch c{at}"), name, scope="row"),
            *(tag("td", cell) for cell in telling.cells(tried, shown.get(name))),
        )
        for at, (name, tried) in enumerate(found.items())
    ]
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows))
    return tag("div", table, class_="scroll", role="region", aria_label="Rows", tabindex=0)


def _footer(asked: Request) -> str:
    card, model, used = asked.card, asked.model, asked.efficiency
    price = f" ${card.usd_per_hour:g} an hour: {card.price_source}." if card.usd_per_hour is not None else ""
    return (
        f"{card.name}: {card.source}.{price} {model.name}: {model.source}. "
        f"Assumed: {used.compute:.0%} of the peak, {used.bandwidth:.0%} of the bandwidth, "
        f"{used.memory:.0%} of the memory, {used.overhead_s * 1e3:g} ms a batch, "
        f"{asked.peak:g} times the mean load, sessions of {asked.turns:g} calls {asked.think_s:g} s apart, "
        f"{asked.prompt.new} new memories a turn. Seed {asked.seed}."
    )
