"""The questions that a ranker answered worst, to read one by one, and who lost what was relevant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from memsift_ops import metrics
from memsift_ops.datasets import Case
from memsift_ops.evaluation.outcome import PREFILTER, Outcome

SHOWN = 12
CHOSEN = 3
NOT_RECALLED = "(not among the candidates)"


class Loss(StrEnum):
    """Why a relevant memory is not among the first, from the step that came closest to the last."""

    RANKED = "ranked below"
    PRUNED = "the prefilter pruned it"
    MISSED = "recall missed it"


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory of a bad case.

    Attributes:
        id: the memory's id.
        place: in the ranking; None when the ranker never saw it.
        score: the ranker's; None likewise.
        evidence: how much speaks for it, comparable across questions; None where the ranker does not tell.
        prefilter: its place before, 0 when the prefilter pruned it; None when recall missed it, and for the
            prefilter's own cases.
        loss: who lost it; None for what was chosen.
        text: "" unless texts are shown.
    """

    id: str
    place: int | None
    score: float | None
    evidence: float | None
    prefilter: int | None
    loss: Loss | None
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class BadCase:
    """A question with none of what is relevant among the first three.

    Attributes:
        query: the query's id.
        lang: its language.
        category: its category.
        text: the question, "" unless texts are shown.
        reason: the ranker's own words, "" likewise or where it has none.
        chosen: the first three, or fewer where the ranker saw fewer.
        relevant: what should have been there, what came closest first.
    """

    query: str
    lang: str
    category: str
    text: str = field(repr=False)
    reason: str = field(repr=False)
    chosen: tuple[Entry, ...]
    relevant: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class BadCases:
    """Those of one set and ranker.

    Attributes:
        set: the set's name.
        ranker: who answered.
        answered: how many questions it answered to which a memory is relevant.
        losses: how many bad cases each step is to blame for, by the relevant memory that came closest.
        worst: at most `SHOWN`, those whose first relevant memory comes last.
    """

    set: str
    ranker: str
    answered: int
    losses: Mapping[Loss, int]
    worst: tuple[BadCase, ...]


def collect(
    sets: Mapping[str, Sequence[Case]],
    rankers: Sequence[str],
    outcomes: Sequence[Outcome],
    *,
    show_text: bool,
) -> list[BadCases]:
    """The bad cases of each set and ranker that answered.

    Args:
        sets: the questions.
        rankers: whose cases, in this order.
        outcomes: in any order; where the prefilter answered in a ranker's place there is no case.
        show_text: whether the cases carry texts of questions, memories and rankers.
    """
    by_key = {outcome.key: outcome for outcome in outcomes if outcome.cause is None}
    found = []
    for name, asked in sets.items():
        for ranker in rankers:
            answered = [
                (one, by_key[name, ranker, one.id], by_key.get((name, PREFILTER, one.id)))
                for one in asked
                if one.gold and (name, ranker, one.id) in by_key
            ]
            bad = [
                (
                    metrics.reciprocal_rank(outcome.ranking, one.gold),
                    one.id,
                    _case(one, outcome, before, show_text=show_text),
                )
                for one, outcome, before in answered
                if not metrics.hit_at(CHOSEN, outcome.ranking, one.gold)
            ]
            bad.sort(key=lambda entry: entry[:2])
            if answered:
                losses = Counter(loss for *_, case in bad if (loss := case.relevant[0].loss))
                cases = (case for *_, case in bad[:SHOWN])
                found.append(BadCases(name, ranker, len(answered), losses, tuple(cases)))
    return found


def _case(one: Case, outcome: Outcome, before: Outcome | None, *, show_text: bool) -> BadCase:
    texts = {memory.id: memory.text for memory in one.memories} if show_text else {}
    places = _places(outcome)
    earlier = {} if before is None or before is outcome else _places(before)
    ranked = len(outcome.ranking) - outcome.pruned
    scores, evidence = (
        dict(zip(outcome.ranking, values, strict=False)) for values in (outcome.scores, outcome.evidence)
    )

    def entry(key: str, loss: Loss | None) -> Entry:
        return Entry(
            id=key,
            place=places.get(key) or None,
            score=scores.get(key),
            evidence=evidence.get(key),
            prefilter=earlier.get(key),
            loss=loss,
            text=texts.get(key, NOT_RECALLED) if show_text else "",
        )

    def closeness(key: str) -> tuple[int, int, str]:
        return list(Loss).index(_loss(places.get(key))), places.get(key, 0), key

    return BadCase(
        query=one.id,
        lang=one.lang,
        category=one.category,
        text=one.query if show_text else "",
        reason=(outcome.reason or "") if show_text else "",
        chosen=tuple(entry(key, None) for key in outcome.ranking[: min(CHOSEN, ranked)]),
        relevant=tuple(entry(key, _loss(places.get(key))) for key in sorted(one.gold, key=closeness)),
    )


def _places(outcome: Outcome) -> dict[str, int]:
    """Places from 1; 0 for what the prefilter had pruned."""
    ranked = len(outcome.ranking) - outcome.pruned
    return {key: at + 1 if at < ranked else 0 for at, key in enumerate(outcome.ranking)}


def _loss(place: int | None) -> Loss:
    if place is None:
        return Loss.MISSED
    return Loss.RANKED if place else Loss.PRUNED
