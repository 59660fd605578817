"""Prefilter and model side by side, over rankings that are known."""

import asyncio

import pytest

from memsift_ops import evaluate
from memsift_ops.datasets import Case
from memsift_ops.evaluate import Answered
from memsift_producer import Reranking
from memsift_producer.fallback import Fallback
from memsift_schemas import Cause, Ranked, RerankResult, Source
from tests.samples import NOW, memories


def ranking(*ids, source=Source.MODEL, pruned=()):
    return RerankResult(
        job_id="j",
        ranking=tuple(Ranked(id=key, score=-at) for at, key in enumerate(ids)),
        source=source,
        cause=None if source is Source.MODEL else Cause.DEADLINE,
        pruned=pruned,
        timings_ms={"total": 12.0},
    )


class FakeReranker:
    """The model turns the prefilter's order around and cannot answer questions that end in "!"."""

    def __init__(self):
        self.asked = []
        self.under_way = self.most_under_way = 0

    async def rerank(self, *, memories, **question):
        self.asked.append(question)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        *kept, last = [memory.id for memory in memories]
        before = ranking(*kept, source=Source.PREFILTER, pruned=(last,))
        result = before if question["query"].endswith("!") else ranking(*reversed(kept), pruned=(last,))
        return Reranking(result, Fallback(lambda: before), 3, {memory.id: memory for memory in memories})


def case(at, query="where?", gold=("m0",)):
    return Case(f"q{at}", "mara", query, NOW, (), tuple(memories(4)), frozenset(gold))


async def ask(*cases):
    reranker, answered = FakeReranker(), []
    answers = await evaluate.ask_all(cases, reranker, answered=lambda: answered.append(1))
    assert len(answered) == len(cases)
    return reranker, answers


async def test_rankings_end_with_what_was_pruned_and_keep_the_order_of_the_questions():
    _, answers = await ask(case(1), case(2, query="now!", gold=("m3",)))
    assert answers[0] == Answered(
        frozenset({"m0"}), ["m2", "m1", "m0", "m3"], ["m0", "m1", "m2", "m3"], by_model=True, ms=12.0
    )
    assert (answers[1].model, answers[1].by_model) == (["m0", "m1", "m2", "m3"], False)


async def test_every_question_goes_as_it_was_asked_four_at_a_time():
    reranker, _ = await ask(*(case(at) for at in range(10)))
    assert reranker.most_under_way == 4
    assert reranker.asked[0] == {
        "query": "where?",
        "user": "mara",
        "session": "q0",
        "turns": (),
        "deadline": 60.0,
        "now": NOW,
    }


def test_the_comparison_averages_each_metric():
    first = Answered(frozenset({"a", "x"}), ["a", "b", "c", "d"], ["b", "a", "c", "d"], by_model=True, ms=10)
    second = Answered(frozenset({"d"}), ["a", "b", "c", "d"], ["d", "a", "b", "c"], by_model=False, ms=30)
    found = evaluate.compare("small", [first, second])
    assert found.model == pytest.approx({"hit@3": 0.5, "MRR": (1 + 1 / 4) / 2, "R@5": 0.75, "P@1": 0.5})
    assert found.prefilter == pytest.approx({"hit@3": 1.0, "MRR": (1 / 2 + 1) / 2, "R@5": 0.75, "P@1": 0.5})
    assert (found.queries, found.by_model, found.median_ms) == (2, 1, 20)
    mean, low, high = found.mrr_difference
    assert mean == pytest.approx((1 / 2 - 3 / 4) / 2)
    # Two queries: every resampled mean is one of the differences or their mean.
    assert (low, high) == pytest.approx((-0.75, 0.5))
