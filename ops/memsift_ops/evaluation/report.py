"""The report as one HTML file: no script, and nothing from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from memsift_ops.evaluation import glance, plots
from memsift_ops.evaluation.bad_cases import SHOWN, BadCase, Entry
from memsift_ops.evaluation.glance import COLUMNS, TEXTS, Row
from memsift_ops.evaluation.markup import Markup, joined, raw, tag
from memsift_ops.evaluation.outcome import PREFILTER
from memsift_ops.evaluation.style import STYLE, colour_classes

Sets = Mapping[str, Mapping[str, Mapping[str, Any]]]


def page(report: Mapping[str, Any], cases: Sequence[BadCase]) -> str:
    """The whole page.

    Args:
        report: what `memsift eval --json` prints.
        cases: bad cases; whether they carry texts was decided when they were made.
    """
    sets: Sets = report["sets"]
    head = tag(
        "head",
        raw('<meta charset="utf-8" /><meta name="viewport" content="width=device-width, initial-scale=1" />'),
        tag("title", "memsift eval"),
        tag("style", raw(STYLE + colour_classes())),
    )
    body = tag(
        "main",
        tag("h1", "Which ranker?"),
        tag("p", _summary(report)),
        _table(sets),
        *_pictures(sets),
        *_bad_cases(cases),
        tag("footer", _footer(report)),
    )
    return "<!DOCTYPE html>\n" + tag("html", head, tag("body", body), lang="en") + "\n"


def _summary(report: Mapping[str, Any]) -> str:
    queries = ", ".join(
        f"{name} ({rankers[PREFILTER]['n']} questions)" for name, rankers in report["sets"].items()
    )
    at_once = report["arguments"]["concurrency"]
    return f"Measured through the queue, {at_once} at a time: {queries}."


def _table(sets: Sets) -> Markup:
    head = tag("tr", tag("th", "ranker"), *(tag("th", name, class_=_kind(name)) for name in COLUMNS))
    body: list[Markup] = []
    if len(sets) > 1:
        body += _group(f"mean of {len(sets)} sets", glance.means(sets))
    for name, rankers in sets.items():
        body += _group(name, glance.rows(rankers))
    note = (
        "▲ and ▼: the MRR differs from the prefilter's beyond its paired 95% interval. Dollars a month are "
        "for a million calls a day, machines of your own not counted. A question for which the prefilter had "
        "to answer in a ranker's place does not count as that ranker's."
    )
    table = tag("table", tag("thead", head), tag("tbody", *body))
    return joined(
        tag("h2", "At a glance"), tag("p", note), tag("div", table, class_="scroll"), _fallbacks(sets)
    )


def _group(name: str, rows: Sequence[Row]) -> list[Markup]:
    filler = (tag("td"),) * len(COLUMNS)
    return [tag("tr", tag("td", name), *filler, class_="set"), *map(_row, range(len(rows)), rows)]


def _row(at: int, row: Row) -> Markup:
    mark = {1: tag("span", " ▲", class_="up"), -1: tag("span", " ▼", class_="down")}.get(row.verdict, raw(""))
    cells = [
        tag("td", cell, mark if name == "MRR" else raw(""), class_=_kind(name))
        for name, cell in zip(COLUMNS, row.cells, strict=True)
    ]
    first = tag("td", tag("span", class_=f"swatch c{at}"), row.ranker)
    return tag("tr", first, *cells, class_="prefilter" if row.ranker == PREFILTER else None)


def _kind(column: str) -> str | None:
    return "text" if column in TEXTS else None


def _fallbacks(sets: Sets) -> Markup:
    told = [
        f"{name}, {ranker}: {found['fell_back']['n']} ("
        + ", ".join(f"{cause} {count}" for cause, count in found["fell_back"]["causes"].items())
        + ")"
        for name, rankers in sets.items()
        for ranker, found in rankers.items()
        if found["fell_back"]["n"]
    ]
    return tag("p", "Fell back to the prefilter: " + "; ".join(told) + ".") if told else raw("")


def _pictures(sets: Sets) -> list[Markup]:
    quality = [(name, plots.quality_against_latency(name, rankers)) for name, rankers in sets.items()]
    gained = [(name, plots.differences(name, rankers)) for name, rankers in sets.items()]
    by_category = [(name, plots.groups(name, rankers, "by_category")) for name, rankers in sets.items()]
    by_language = [(name, plots.groups(name, rankers, "by_language")) for name, rankers in sets.items()]
    return [
        *_section(
            "Quality against latency",
            "MRR over the median of the whole call. Upright lines are 95% intervals, level ones go to the "
            "95th percentile; the band is the 300 to 500 ms that a chat waits.",
            quality,
        ),
        *_section(
            "Gained over the prefilter",
            "Difference of the MRR on the same questions, with its paired 95% interval. A line that touches "
            "zero may be noise.",
            gained,
        ),
        *_section("By category", "MRR with 95% intervals; in brackets the number of questions.", by_category),
        *_section("By language", "MRR with 95% intervals; in brackets the number of questions.", by_language),
    ]


def _section(title: str, note: str, figures: Sequence[tuple[str, Markup | None]]) -> list[Markup]:
    cards = [
        tag("figure", tag("h3", name), figure, class_="card")
        for name, figure in figures
        if figure is not None
    ]
    return [tag("h2", title), tag("p", note), tag("div", *cards, class_="cards")] if cards else []


def _bad_cases(cases: Sequence[BadCase]) -> list[Markup]:
    if not cases:
        return []
    note = f"Questions with nothing relevant among the first three; at most {SHOWN} of each, the worst first."
    groups = []
    for (name, ranker), group in groupby(cases, key=lambda case: (case.set, case.ranker)):
        found = list(group)
        head = tag("summary", f"{name}, {ranker}: {len(found)}")
        groups.append(tag("details", head, tag("ul", *map(_case, found))))
    return [tag("h2", "Bad cases"), tag("p", note), *groups]


def _case(case: BadCase) -> Markup:
    quote = tag("span", case.text, class_="quote") if case.text else raw("")
    category = f" {case.category}" if case.category else ""
    ids = tag(
        "div",
        tag("span", "chosen"),
        tag("div", *map(_entry, case.chosen)),
        tag("span", "relevant"),
        tag("div", *map(_entry, case.relevant)),
        class_="ids",
    )
    return tag("li", tag("code", case.query), category, quote, ids)


def _entry(entry: Entry) -> Markup:
    place = "missed by recall" if entry.place is None else f"place {entry.place}"
    text = tag("span", entry.text, class_="quote") if entry.text else raw("")
    return tag("div", tag("code", entry.id), f" {place}", text)


def _footer(report: Mapping[str, Any]) -> str:
    machine = report["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in report["versions"].items() if number)
    arguments = ", ".join(f"{name} {value}" for name, value in report["arguments"].items())
    return (
        f"{machine['processor']}, {machine['cpus']} CPUs, {machine['memory_gb']} GB. {versions}. {arguments}."
    )
