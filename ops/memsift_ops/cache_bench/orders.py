"""How much the order of a deck moves rankings, with the labels' bias left in and taken off."""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memsift_ops import metrics
from memsift_ops.datasets import Case
from memsift_schemas.job import RerankJob
from memsift_workers.decks.deck import Deck, Limits
from memsift_workers.decks.session import lay_one
from memsift_workers.rankers.base import Scores
from memsift_workers.runtimes.base import Answer, Runtime
from memsift_workers.strategies.listwise import Listwise

TOP = 3
ANSWER_S = 300.0
WIDE = Limits(memories=10**6, tokens=10**9, carry=0.0)


@dataclass(frozen=True, slots=True)
class Ordered:
    """The rankings of one question in several random orders of its deck.

    Attributes:
        gold: ids of what is relevant.
        bare: with the labels' log-probabilities as they are.
        corrected: with what each has behind no question taken off, as memsift ranks.
    """

    gold: frozenset[str]
    bare: tuple[tuple[str, ...], ...]
    corrected: tuple[tuple[str, ...], ...]


async def ask(
    cases: Sequence[tuple[Case, RerankJob]],
    runtime: Runtime,
    strategy: Listwise,
    *,
    orders: int,
    seed: int,
    progress: Callable[[], None],
) -> list[Ordered]:
    """Rank each job in several random orders.

    Args:
        cases: questions and their jobs.
        runtime: started.
        strategy: with the runtime's labels.
        orders: how many of each.
        seed: of the orders.
        progress: called after each question.
    """
    chance = random.Random(seed)
    found = []
    for case, job in cases:
        bare, corrected = [], []
        for _ in range(orders):
            shuffled = _shuffled(job, chance)
            laid, _kept = lay_one(shuffled, Deck(), WIDE, "")
            answers = await runtime.run(strategy.calls(shuffled, laid), timeout=ANSWER_S)
            nothing = Answer(logprobs=(0.0,) * len(laid.entries))
            bare.append(_ids(shuffled, strategy.scores(shuffled, laid, [answers[0], nothing])))
            corrected.append(_ids(shuffled, strategy.scores(shuffled, laid, answers)))
        found.append(Ordered(case.gold, tuple(bare), tuple(corrected)))
        progress()
    return found


def summarise(found: Sequence[Ordered]) -> dict[str, Any]:
    """The numbers of both kinds.

    Returns:
        `bare` and `corrected`: the MRR, and over all pairs of orders of a question Spearman's rank
        correlation and the share of the first three that they have in common.
    """
    return {
        "bare": _numbers([(one.gold, one.bare) for one in found]),
        "corrected": _numbers([(one.gold, one.corrected) for one in found]),
        "questions": len(found),
    }


def _numbers(found: Sequence[tuple[frozenset[str], Sequence[tuple[str, ...]]]]) -> dict[str, float]:
    pairs = [pair for _, rankings in found for pair in itertools.combinations(rankings, 2)]
    ranked = [(ranking, gold) for gold, rankings in found for ranking in rankings]
    return {
        "mrr": statistics.fmean(metrics.reciprocal_rank(ranking, gold) for ranking, gold in ranked),
        "rank_correlation": statistics.fmean(_correlation(*pair) for pair in pairs),
        "first_three_in_common": statistics.fmean(len({*a[:TOP]} & {*b[:TOP]}) / TOP for a, b in pairs),
    }


def _correlation(one: Sequence[str], other: Sequence[str]) -> float:
    place = {id_: at for at, id_ in enumerate(other)}
    return float(np.corrcoef(np.arange(len(one)), [place[id_] for id_ in one])[0, 1])


def _shuffled(job: RerankJob, chance: random.Random) -> RerankJob:
    order = list(range(len(job.candidates)))
    chance.shuffle(order)
    update = {
        "candidates": tuple(job.candidates[at] for at in order),
        "prior": tuple(job.prior[at] for at in order),
    }
    return job.model_copy(update=update)


def _ids(job: RerankJob, scores: Scores) -> tuple[str, ...]:
    order = sorted(range(len(job.candidates)), key=lambda at: (-scores.values[at], -job.prior[at]))
    return tuple(job.candidates[at].id for at in order)
