"""Ranks logged calls again, by another ranker or with other settings, and tells what differs."""

from __future__ import annotations

import asyncio
import contextlib
import statistics
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from memsift_ops.datasets import Case
from memsift_ops.errors import Failure
from memsift_ops.evaluation import asking, worker
from memsift_ops.evaluation.outcome import PREFILTER, Outcome
from memsift_ops.local import PATIENT, Answering
from memsift_producer import Reranker
from memsift_schemas.decision import Decision, DecisionText, Told
from memsift_schemas.hits import What, judged
from memsift_workers.shadow.agreement import Agreement, agreement

SET = "replay"


@dataclass(frozen=True, slots=True)
class Again:
    """One call, then and now.

    Attributes:
        job: its id.
        found: how far the two rankings agree.
        came_in: ids that are picked now and were not.
        went_out: ids that were picked and are not now.
        then_ms: what the whole call took.
        now_ms: likewise.
        then_hits: in which counts of the hit rate it is, by the feedback on it; None without any.
        now_hits: likewise.
    """

    job: str
    found: Agreement
    came_in: tuple[str, ...]
    went_out: tuple[str, ...]
    then_ms: float
    now_ms: float
    then_hits: tuple[What, ...] | None
    now_hits: tuple[What, ...] | None


def as_case(decision: Decision, text: DecisionText) -> Case:
    """A logged call as a question that an evaluation asks."""
    return Case(
        id=decision.job,
        user=decision.user or "replay",
        query=text.query,
        now=text.now,
        turns=text.turns,
        memories=text.memories,
        gold=frozenset(),
        activity=text.activity,
    )


def rank(ranker: str, cases: Sequence[Case], done: Callable[[], None]) -> list[Outcome]:
    """Ask all of them, of the worker at `MEMSIFT_REDIS_URL` if one is ready there, else of a temporary one.

    Args:
        ranker: its name, a chain, or `prefilter`.
        cases: the calls.
        done: called after each.

    Raises:
        Failure: a process ended, or the running worker does not serve this ranker.
    """
    found: list[Outcome] = []

    def take(outcome: Outcome) -> None:
        found.append(outcome)
        done()

    with _answering(ranker) as answering:
        asyncio.run(_ask(ranker, cases, answering, take))
    return found


@contextlib.contextmanager
def _answering(ranker: str) -> Iterator[Answering | None]:
    if ranker == PREFILTER:
        yield None
        return
    with worker.serving([ranker]) as answering:
        yield answering


async def _ask(
    ranker: str, cases: Sequence[Case], answering: Answering | None, take: Callable[[Outcome], None]
) -> None:
    if answering is None:
        await asking.ask_prefilter(Reranker.from_url(**PATIENT), SET, cases, take)
        return

    def checked(outcome: Outcome) -> None:
        answering.check()
        take(outcome)

    async with Reranker.from_url(answering.redis_url, queue=answering.queue, **PATIENT) as reranker:
        await asking.ask_ranker(
            reranker, ranker, SET, cases, concurrency=1, cpu_seconds=lambda: None, done=checked
        )


def compare(decision: Decision, told: Told | None, outcome: Outcome) -> Again:
    """One call, then and now. The whole lists are compared, what the prefilter left out at their ends."""
    then = [memory.id for memory in decision.memories]
    picked = picks(outcome, top_k=decision.top_k, min_relevance=decision.min_relevance)
    right = {"used": told.used, "missed": told.missed} if told else None
    return Again(
        job=decision.job,
        found=agreement(then, list(outcome.ranking), top_k=decision.top_k),
        came_in=tuple(one for one in picked if one not in decision.picked),
        went_out=tuple(one for one in decision.picked if one not in picked),
        then_ms=decision.timings_ms.get("total", 0.0),
        now_ms=outcome.total_ms,
        then_hits=tuple(judged(decision.picked, **right)) if right else None,
        now_hits=tuple(judged(picked, **right)) if right else None,
    )


def picks(outcome: Outcome, *, top_k: int, min_relevance: float) -> tuple[str, ...]:
    """What belongs into the prompt by a ranking; see `result.select`."""
    ranked = outcome.ranking[: len(outcome.ranking) - outcome.pruned]
    known = outcome.relevance or (None,) * len(ranked)
    kept = [one for one, value in zip(ranked, known, strict=True) if value is None or value >= min_relevance]
    return tuple(kept[:top_k])


def report(ranker: str, found: Sequence[Again], fell_back: Mapping[str, int]) -> dict[str, Any]:
    """The numbers, JSON-ready.

    Args:
        ranker: who ranked now.
        found: at least one.
        fell_back: cause -> calls that the ranker did not answer now.

    Raises:
        Failure: there is nothing to tell.
    """
    if not found:
        raise Failure(f"{ranker} answered none of them: {dict(fell_back)}")
    measures = [asdict(one.found) for one in found]
    with_feedback = [one for one in found if one.then_hits and "right" in one.then_hits]
    return {
        "ranker": ranker,
        "jobs": len(found),
        "fell_back": dict(fell_back),
        "agreement": {name: statistics.fmean(float(one[name]) for one in measures) for name in measures[0]},
        "median_ms": {
            "then": statistics.median(one.then_ms for one in found),
            "now": statistics.median(one.now_ms for one in found),
        },
        "hit_rate": {
            "jobs": len(with_feedback),
            "then": _rates([one.then_hits or () for one in with_feedback]),
            "now": _rates([one.now_hits or () for one in with_feedback]),
        },
        "differences": [
            {"job": one.job, "came_in": list(one.came_in), "went_out": list(one.went_out)}
            for one in found
            if one.came_in or one.went_out
        ],
    }


def _rates(found: Sequence[Collection[What]]) -> dict[str, float] | None:
    if not found:
        return None
    names: tuple[What, ...] = ("any", "all")
    return {name: sum(name in one for one in found) / len(found) for name in names}
