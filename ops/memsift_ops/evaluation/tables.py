"""The tables of the HTML report."""

from __future__ import annotations

from collections.abc import Sequence

from memsift_ops.evaluation import glance
from memsift_ops.evaluation.bad_cases import BadCases, Loss
from memsift_ops.evaluation.glance import AT_A_GLANCE, MARKS, NUMBERS, Row, Sets
from memsift_ops.evaluation.markup import Markup, raw, tag
from memsift_ops.evaluation.outcome import PREFILTER

TEXTS = ("leaves network", "needs")
# Left out of short tables on a phone: MRR has to do, needs are below the name, questions above the cases.
DESKTOP = ("P@1", "needs", "questions")
MARKS_TOLD = {1: "better than the prefilter beyond noise", -1: "worse than the prefilter beyond noise"}
Group = tuple[str, Sequence[Markup]]


def at_a_glance(sets: Sets) -> Markup:
    """One row for each ranker: of the one set, or the mean over all of them."""
    answerable = glance.with_answers(sets)
    if len(answerable) > 1:
        of_what, rows = glance.mean_title(sets), glance.means(sets)
    else:
        (name, rankers), *_ = (answerable or sets).items()
        of_what, rows = glance.title(name, rankers), glance.rows(rankers)
    lines = [_row(at, row, AT_A_GLANCE, short=True) for at, row in enumerate(rows)]
    return _table("Rankers at a glance: " + of_what, ["ranker", *AT_A_GLANCE], [("", lines)], short=True)


def numbers(sets: Sets) -> Markup:
    """Every metric of every set and ranker, with intervals."""
    columns = glance.columns(NUMBERS, sets)
    groups = [
        (
            glance.title(name, rankers),
            [_row(at, row, columns, short=False) for at, row in enumerate(glance.rows(rankers))],
        )
        for name, rankers in sets.items()
    ]
    return _table("All numbers by set, with 95% intervals", ["ranker", *columns], groups)


def losses(found: Sequence[BadCases], sets: Sets) -> Markup:
    """How many bad cases each step is to blame for."""
    columns = ["ranker", "questions", "bad cases", *Loss]
    groups: list[tuple[str, list[Markup]]] = []
    for one in found:
        name = glance.title(one.set, sets[one.set])
        if not groups or groups[-1][0] != name:
            groups.append((name, []))
        counts = [one.answered, sum(one.losses.values()), *(one.losses.get(loss, 0) for loss in Loss)]
        told = zip(columns[1:], counts, strict=True)
        cells = [tag("td", f"{count:,}", class_=_kind(column, short=True)) for column, count in told]
        groups[-1][1].append(tag("tr", _name(list(sets[one.set]).index(one.ranker), one.ranker), *cells))
    return _table("Bad cases by the step that lost the relevant memory", columns, groups, short=True)


def _table(caption: str, columns: Sequence[str], groups: Sequence[Group], *, short: bool = False) -> Markup:
    heads = [tag("th", name, scope="col", class_=_kind(name, short=short)) for name in columns]
    bodies = []
    for name, rows in groups:
        head = tag("tr", tag("th", name, scope="rowgroup", colspan=len(columns)), class_="set")
        bodies.append(tag("tbody", head if name else raw(""), *rows))
    table = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *heads)),
        *bodies,
        class_="short" if short else None,
    )
    # Where it is wider than the page it scrolls by itself; a keyboard has to reach it for that.
    return tag("div", table, class_="scroll", role="region", aria_label=caption, tabindex=0)


def _row(at: int, row: Row, columns: Sequence[str], *, short: bool) -> Markup:
    cells = [
        tag(
            "td",
            row.cells[name],
            _mark(row.verdict) if name == "MRR" else raw(""),
            raw("") if short else _interval(row.intervals.get(name)),
            class_=_kind(name, short=short),
        )
        for name in columns
    ]
    needs = row.cells["needs"] if short else ""
    return tag(
        "tr", _name(at, row.ranker, needs), *cells, class_="prefilter" if row.ranker == PREFILTER else None
    )


def _name(at: int, ranker: str, needs: str = "") -> Markup:
    first, *others = ranker.split(">")
    # Names of chains are long: they may be broken between their parts.
    parts = [part for other in others for part in (">", raw("<wbr />"), other)]
    below = tag("span", needs, class_="phone") if needs else raw("")
    start = tag("span", tag("span", class_=f"swatch c{at}"), first, class_="whole")
    return tag("th", start, *parts, below, scope="row")


def _mark(verdict: int) -> Markup:
    if not verdict:
        return raw("")
    about = {"role": "img", "aria_label": MARKS_TOLD[verdict]}
    # Kept on the line of its number.
    return tag("span", MARKS[verdict].replace(" ", "\u00a0"), class_="up" if verdict > 0 else "down", **about)


def _interval(told: str | None) -> Markup:
    return raw("") if told is None else tag("span", told, class_="ci")


def _kind(column: str, *, short: bool) -> str | None:
    kinds = ["text"] * (column in TEXTS) + ["desktop"] * (short and column in DESKTOP)
    return " ".join(kinds) or None
