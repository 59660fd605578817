"""From the start of a worker to the first answer that it gives."""

from __future__ import annotations

import asyncio
import time

from memsift_ops.errors import Failure
from memsift_ops.local import PATIENT
from memsift_ops.producer_bench import memories_of
from memsift_ops.stack import Stack
from memsift_producer import Reranker
from memsift_schemas.result import Source

DEADLINE_S = 60.0


def first_answer_s() -> float:
    """Seconds from the worker's start to the model's answer to a first question, in an otherwise ready stack.

    Raises:
        Failure: the worker did not start, or its model did not answer.
    """
    with Stack("memsift.bench.start") as stack:
        url = stack.start_valkey()
        began = time.perf_counter()
        stack.start_worker()
        asyncio.run(_ask(url, stack.queue))
        return time.perf_counter() - began


async def _ask(url: str, queue: str) -> None:
    async with Reranker.from_url(url, queue=queue, **PATIENT) as reranker:
        answer = await reranker.rerank(query="Which plan?", memories=memories_of(0)[:20], deadline=DEADLINE_S)
    if answer.source is not Source.MODEL:
        raise Failure(f"the first question was answered by the prefilter: {answer.cause}")
