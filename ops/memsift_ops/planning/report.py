"""The report of a plan: one HTML file, or its pictures as one SVG; no script, and nothing from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsift_ops.evaluation import plots
from memsift_ops.evaluation.markup import Markup, raw, tag
from memsift_ops.evaluation.page import whole
from memsift_ops.evaluation.plots.canvas import WIDTH
from memsift_ops.evaluation.style import STYLE, colour_classes
from memsift_ops.planning import pictures, telling
from memsift_ops.planning.capacity import Tried
from memsift_ops.planning.request import Request

GAP, CAPTION, COLUMNS = 16, 26, 2
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
    parts: list[Markup] = []
    y, row = float(GAP), 0.0
    for at, (title, drawn) in enumerate(_pictures(found, shown, target_ms)):
        x = GAP + at % COLUMNS * (WIDTH + 2 * GAP)
        if at and at % COLUMNS == 0:
            y, row = y + row, 0.0
        height = float(drawn.split('viewBox="0 0 ', 1)[1].split('"', 1)[0].split()[1])
        parts.append(tag("text", title, x=x, y=y + CAPTION - 10, class_="head"))
        place = f'<svg x="{x}" y="{y + CAPTION:g}" width="{WIDTH}" height="{height:g}" '
        parts.append(raw(drawn.replace("<svg ", place, 1)))
        row = max(row, CAPTION + height + GAP)
    size = {"width": COLUMNS * (WIDTH + 2 * GAP), "height": y + row}
    style = tag("style", raw(f"{STYLE}{colour_classes()} text {{ font-family: system-ui, sans-serif; }}"))
    ground = tag("rect", fill="var(--card)", **size)
    box = f"0 0 {size['width']:g} {size['height']:g}"
    about = tag("title", telling.load(asked))
    drawing = tag(
        "svg", about, style, ground, *parts, xmlns="http://www.w3.org/2000/svg", viewBox=box, **size
    )
    return drawing + "\n"


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
