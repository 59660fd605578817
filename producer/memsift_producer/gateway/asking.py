"""A call's question to the `Reranker`, at the pace that the calls behind it leave."""

from __future__ import annotations

from dataclasses import replace

from memsift_producer.documents.ranking import LEAST_S
from memsift_producer.gateway.call import Call
from memsift_producer.gateway.running import Pace
from memsift_producer.observed import Observed
from memsift_producer.preparation import prepare_as_given
from memsift_producer.question import Question
from memsift_producer.reranker import Reranker
from memsift_producer.reranking import Reranking


async def ask(
    question: Question, call: Call, reranker: Reranker, deadline_ms: int | None = None
) -> Reranking:
    """Rank, by the deadline, also where thousands of calls came at once.

    Args:
        question: what to rank; its deadline is the call's.
        call: whose turn it is.
        reranker: answers.
        deadline_ms: by the body, which beats the header.

    Raises:
        InvalidInput: the question cannot be.
    """
    __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
    left_s = call.time_left(deadline_ms)
    pace = call.turns.pace(left_s)
    if pace is Pace.AS_GIVEN:
        return _as_given(question, call, reranker)
    return await reranker.answer(replace(question, deadline=left_s if pace is Pace.MODEL else LEAST_S))


def _as_given(question: Question, call: Call, reranker: Reranker) -> Reranking:
    """Not even the prefilter: the calls behind this one need the time."""
    __tracebackhide__ = True
    began = call.clock.monotonic()
    with Observed(reranker.metrics) as observed:
        prepared = prepare_as_given(question, settings=reranker.settings, clock=call.clock)
        result = prepared.fallback()
        observed.answered(result, call.clock.monotonic() - began)
    return Reranking(result, prepared.fallback, prepared.top_k, prepared.by_id, prepared.min_relevance)
