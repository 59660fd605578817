"""The report as one HTML file: no script, and nothing from outside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memsift_ops.evaluation import case_list, conclusion, glance, plots, tables
from memsift_ops.evaluation.bad_cases import SHOWN, BadCases
from memsift_ops.evaluation.glance import Sets
from memsift_ops.evaluation.markup import Markup, tag
from memsift_ops.evaluation.outcome import PREFILTER, Outcome
from memsift_ops.evaluation.page import whole

# The picture of one set, or None where there is nothing to draw.
Draw = Callable[[str, Mapping[str, Mapping[str, Any]]], Markup | None]


def page(report: Mapping[str, Any], outcomes: Sequence[Outcome], found: Sequence[BadCases]) -> str:
    """The whole page.

    Args:
        report: what `memsift eval --json` prints.
        outcomes: what it was made from.
        found: bad cases; whether they carry texts was decided when they were collected.
    """
    sets: Sets = report["sets"]
    return whole(
        "memsift eval",
        tag("h1", "Which ranker?"),
        tag("p", conclusion.sentence(sets), class_="conclusion"),
        *_warning(sets),
        tables.at_a_glance(sets),
        tag("p", _measured(report)),
        *_pictures(sets, outcomes),
        *_numbers(sets),
        *_bad_cases(found, sets),
        tag("footer", _footer(report)),
    )


def _warning(sets: Sets) -> list[Markup]:
    fitted_on = [name for name, found in sets.items() if any(one.get("in_sample") for one in found.values())]
    if not fitted_on:
        return []
    told = f"Weights or calibration were fitted on the questions of {', '.join(fitted_on)}: that flatters."
    return [tag("p", tag("strong", "In-sample. "), told)]


def _measured(report: Mapping[str, Any]) -> str:
    queries = ", ".join(
        f"{glance.title(name, rankers)} ({_questions(rankers[PREFILTER])})"
        for name, rankers in report["sets"].items()
    )
    at_once = report["arguments"]["concurrency"]
    prices = report["prices"]
    source = "as rankers tell, machines of your own not counted"
    if prices:
        source = f"by the price file {prices['name']}, {prices['date'] or 'without a date'}"
    return (
        f"Measured through the queue, {at_once} at a time: {queries}. Latency is that of the whole call. "
        f"Dollars a month are for a million calls a day, {source}. ▲ and ▼: the MRR differs from the "
        "prefilter's beyond its paired 95% interval."
    )


def _questions(found: Mapping[str, Any]) -> str:
    unanswerable = found["abstention"]["n_unanswerable"]
    return f"{found['n']} questions" + (f" and {unanswerable} that nothing answers" if unanswerable else "")


def _pictures(sets: Sets, outcomes: Sequence[Outcome]) -> list[Markup]:
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.cause is None:
            times[outcome.set, outcome.ranker].append(outcome.total_ms)

    def latency(name: str, rankers: Mapping[str, Mapping[str, Any]]) -> Markup | None:
        return plots.latency(name, rankers, {ranker: times[name, ranker] for ranker in rankers})

    return [
        *_section(
            "Quality against latency",
            "MRR over the median of the whole call. Upright lines are 95% intervals, level ones go to the "
            "95th percentile; the band is the 300 to 500 ms that a chat waits.",
            glance.with_answers(sets),
            plots.tradeoff,
        ),
        *_section(
            "Gained over the prefilter",
            "Difference of the MRR on the same questions, with its paired 95% interval. A line that touches "
            "zero may be noise.",
            glance.with_answers(sets),
            plots.gains,
        ),
        *_section(
            "How long calls take",
            "The shape is the share of the calls, the thin line goes from the fastest to the slowest. The "
            "dot is the median (p50), the upright line p95, the diamond p99; the band is the budget.",
            sets,
            latency,
        ),
        *_section(
            "Knowing when nothing answers",
            "Area under the ROC curve (AUROC), with 95% intervals: how often a question that a memory "
            "answers has more evidence for its first memory than one that none answers. 0.5 is chance.",
            sets,
            plots.abstention,
        ),
        *_section(
            "Whether probabilities can be believed",
            "Of the memories to which a ranker gave about that probability, the share that was relevant. On "
            "the dashed line it is right, below it too sure. Large dots stand for many memories.",
            sets,
            plots.reliability,
        ),
        *_section(
            "By category",
            "MRR with 95% intervals; in brackets the number of questions.",
            glance.with_answers(sets),
            lambda name, rankers: plots.groups(name, rankers, "by_category"),
        ),
        *_section(
            "By language",
            "MRR with 95% intervals; in brackets the number of questions.",
            glance.with_answers(sets),
            lambda name, rankers: plots.groups(name, rankers, "by_language"),
        ),
    ]


def _section(heading: str, note: str, sets: Sets, draw: Draw) -> list[Markup]:
    drawn = [(glance.title(name, rankers), draw(name, rankers)) for name, rankers in sets.items()]
    cards = [
        tag("figure", tag("figcaption", name), picture, class_="card")
        for name, picture in drawn
        if picture is not None
    ]
    return [tag("h2", heading), tag("p", note), tag("div", *cards, class_="cards")] if cards else []


def _numbers(sets: Sets) -> list[Markup]:
    note = "A question for which the prefilter answered in a ranker's place does not count as that ranker's."
    return [tag("h2", "All numbers"), tag("p", f"{note} {_fallbacks(sets)}"), tables.numbers(sets)]


def _fallbacks(sets: Sets) -> str:
    told = [
        f"{name}, {ranker}: {found['fell_back']['n']} ("
        + ", ".join(f"{cause} {count}" for cause, count in found["fell_back"]["causes"].items())
        + ")"
        for name, rankers in sets.items()
        for ranker, found in rankers.items()
        if found["fell_back"]["n"]
    ]
    return f"Fell back to the prefilter: {'; '.join(told)}." if told else "There was none."


def _bad_cases(found: Sequence[BadCases], sets: Sets) -> list[Markup]:
    if not any(one.worst for one in found):
        return []
    note = (
        "Questions with nothing relevant among the first three, and which step lost it. Recall missed it: "
        "it was not among the candidates. The prefilter pruned it: the ranker never saw it. Ranked below: "
        "it did see it. Of several relevant memories the one that came closest counts. The worst are shown "
        f"first, at most {SHOWN} of each."
    )
    return [tag("h2", "Bad cases"), tag("p", note), tables.losses(found, sets), *case_list.drawn(found)]


def _footer(report: Mapping[str, Any]) -> str:
    machine = report["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in report["versions"].items() if number)
    arguments = ", ".join(f"{name} {value}" for name, value in report["arguments"].items())
    return (
        f"{machine['processor']}, {machine['cpus']} CPUs, {machine['memory_gb']} GB. {versions}. {arguments}."
    )
