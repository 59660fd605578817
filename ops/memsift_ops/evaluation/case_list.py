"""The bad cases in the HTML report."""

from __future__ import annotations

from collections.abc import Sequence

from memsift_ops.evaluation.bad_cases import SHOWN, BadCase, BadCases, Entry
from memsift_ops.evaluation.markup import Markup, raw, tag


def drawn(found: Sequence[BadCases]) -> list[Markup]:
    """What can be opened, one for each set and ranker that has some."""
    return [_of_ranker(one) for one in found if one.worst]


def _of_ranker(found: BadCases) -> Markup:
    bad = sum(found.losses.values())
    shown = f", the worst {SHOWN}" if bad > SHOWN else ""
    head = tag("summary", f"{found.set}, {found.ranker}: {bad} of {found.answered}{shown}")
    return tag("details", head, tag("ul", *(_case(case, found.ranker) for case in found.worst)))


def _case(case: BadCase, ranker: str) -> Markup:
    category = f" {case.category}" if case.category else ""
    loss = tag("span", str(case.relevant[0].loss), class_="loss")
    head = tag("div", tag("code", case.query), category, " ", loss)
    reason = tag("p", f"{ranker}: ", tag("q", case.reason), class_="reason") if case.reason else raw("")
    memories = tag(
        "dl",
        tag("dt", "chosen"),
        *(_entry(entry, case.lang) for entry in case.chosen),
        tag("dt", "relevant"),
        *(_entry(entry, case.lang) for entry in case.relevant),
    )
    return tag("li", head, _quote(case.text, case.lang), reason, memories)


def _entry(entry: Entry, lang: str) -> Markup:
    told = [
        "" if entry.loss is None else str(entry.loss),
        "" if entry.place is None else f"place {entry.place}",
        "" if entry.score is None else f"score {entry.score:.3g}",
        "" if entry.evidence is None else f"evidence {entry.evidence:.3g}",
        _before(entry.prefilter),
    ]
    return tag("dd", tag("code", entry.id), " " + " · ".join(filter(None, told)), _quote(entry.text, lang))


def _before(place: int | None) -> str:
    if place is None:
        return ""
    return f"prefilter: place {place}" if place else "prefilter: pruned"


def _quote(text: str, lang: str) -> Markup:
    return tag("span", text, class_="quote", lang=lang or None) if text else raw("")
