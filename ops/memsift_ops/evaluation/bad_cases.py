"""The questions that a ranker answered worst, to read one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memsift_ops import metrics
from memsift_ops.datasets import Case
from memsift_ops.evaluation.outcome import Outcome

SHOWN = 12
CHOSEN = 3
NOT_RECALLED = "(not among the candidates)"


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory of a bad case: its id, its place in the ranking (None when recall missed it), and its text."""

    id: str
    place: int | None
    text: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class BadCase:
    """A question with none of what is relevant among the first three.

    Attributes:
        set: the set's name.
        ranker: who answered.
        query: the query's id.
        category: its category.
        text: the question, "" unless texts are shown.
        chosen: the first three.
        relevant: what should have been there.
    """

    set: str
    ranker: str
    query: str
    category: str
    text: str = field(repr=False)
    chosen: tuple[Entry, ...]
    relevant: tuple[Entry, ...]


def worst(
    sets: Mapping[str, Sequence[Case]],
    rankers: Sequence[str],
    outcomes: Sequence[Outcome],
    *,
    show_text: bool,
) -> list[BadCase]:
    """At most `SHOWN` of each set and ranker, those whose first relevant memory comes last.

    Args:
        sets: the questions.
        rankers: whose cases.
        outcomes: in any order; where the prefilter answered in a ranker's place there is no case.
        show_text: whether the cases carry texts of questions and memories.
    """
    by_key = {outcome.key: outcome for outcome in outcomes if outcome.cause is None}
    found = []
    for name, asked in sets.items():
        for ranker in rankers:
            bad = [
                (metrics.reciprocal_rank(outcome.ranking, one.gold), one.id, one, outcome)
                for one in asked
                if (outcome := by_key.get((name, ranker, one.id))) is not None
                and not metrics.hit_at(CHOSEN, outcome.ranking, one.gold)
            ]
            bad.sort(key=lambda entry: entry[:2])
            found += [_case(one, outcome, show_text=show_text) for *_, one, outcome in bad[:SHOWN]]
    return found


def _case(one: Case, outcome: Outcome, *, show_text: bool) -> BadCase:
    places = {key: place for place, key in enumerate(outcome.ranking, start=1)}
    texts = {memory.id: memory.text for memory in one.memories} if show_text else {}

    def entry(key: str) -> Entry:
        text = texts.get(key, NOT_RECALLED) if show_text else ""
        return Entry(key, places.get(key), text)

    return BadCase(
        set=outcome.set,
        ranker=outcome.ranker,
        query=one.id,
        category=one.category,
        text=one.query if show_text else "",
        chosen=tuple(map(entry, outcome.ranking[:CHOSEN])),
        relevant=tuple(map(entry, sorted(one.gold, key=lambda key: (places.get(key, 10**9), key)))),
    )
