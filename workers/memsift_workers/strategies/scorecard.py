"""`scorecard`: the model writes a ranking and a reason as JSON. The slowest way; its reason is for people."""

from __future__ import annotations

from collections.abc import Sequence

from memsift_schemas.job import MAX_CANDIDATES, RerankJob
from memsift_workers.decks.laid import Laid
from memsift_workers.rankers.base import Scores
from memsift_workers.runtimes.base import Answer, Call, Json, Likelihood
from memsift_workers.strategies import card
from memsift_workers.strategies.base import collect, talk_pieces
from memsift_workers.strategies.layout import latest
from memsift_workers.strategies.templates import Template


class Scorecard:
    """One prompt per job, a few dozen decoded tokens."""

    name = "scorecard"
    labels: tuple[str, ...] = ()

    def __init__(self, template: Template) -> None:
        self._template = template

    @property
    def deck_size(self) -> int:
        """Ids are numbered, so any number can be shown."""
        return MAX_CANDIDATES

    def use_labels(self, usable: Sequence[str]) -> None:
        """There are none."""

    def calls(self, job: RerankJob, laid: Laid) -> list[Call]:
        """One prompt: deck, conversation, question."""
        named = _names(laid)
        return [
            Call(
                prefix=(*self._deck(laid), *talk_pieces(laid)),
                suffix=f"{latest(job)}Ranking as JSON:{self._template.before_answer}",
                wish=Json(card.schema(job, named), card.max_tokens(job, named)),
                namespace=job.user,
            )
        ]

    def warming(self, job: RerankJob, laid: Laid) -> list[Call]:
        """See `Strategy.warming`."""
        return [Call(self._deck(laid), self._template.before_answer, Likelihood(), namespace=job.user)]

    def scores(self, job: RerankJob, laid: Laid, answers: Sequence[Answer]) -> Scores:
        """See `Strategy.scores`."""
        values, reason = card.read(job, _names(laid), answers[0].text if len(answers) == 1 else "")
        return collect(values, answers, reason)

    def _deck(self, laid: Laid) -> tuple[str, ...]:
        opening = f"{self._template.opening(card.SYSTEM)}{card.HEADING}"
        return (opening, *(f"{card.name(at)}: {one.line}\n" for at, one in enumerate(laid.entries)))


def _names(laid: Laid) -> card.Names:
    """Short ids by place in the deck, of the job's own candidates alone."""
    return {card.name(at): place for at, place in enumerate(laid.places) if place is not None}
