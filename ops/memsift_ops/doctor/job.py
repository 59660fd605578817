"""One call from end to end, as a frontend makes it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memsift_ops.doctor.finding import Finding, fault, ok, warning
from memsift_producer import Reranker
from memsift_schemas.result import Source
from memsift_schemas.settings import ProducerSettings

# A deadline that a worker can miss only if something is wrong.
PATIENCE_S = 10.0
_TEXTS = (
    "The spare key to the workshop hangs behind the barometer.",
    "The workshop closes at six on Fridays.",
    "The barometer was a present.",
)


async def look(settings: ProducerSettings) -> Finding:
    """Ask about three made-up memories.

    Args:
        settings: a frontend's.
    """
    now = datetime.now(UTC)
    memories = [
        {"id": f"m{at}", "text": text, "created_at": now - timedelta(days=at + 1)}
        for at, text in enumerate(_TEXTS)
    ]
    async with Reranker(settings) as reranker:
        answer = await reranker.rerank(
            query="Where is the spare key?", memories=memories, user="memsift-doctor", deadline=PATIENCE_S
        )
    took_ms = answer.result.timings_ms["total"]
    if answer.source is not Source.MODEL:
        return fault(
            "job",
            f"a test call fell back to the prefilter: {answer.cause}",
            "docs/operating.md tells what each cause wants",
        )
    told = f"answered by {answer.result.ranker} ({answer.result.model}) in {took_ms:.0f} ms"
    if took_ms > settings.deadline_ms:
        remedy = "a faster model or fewer memories (MEMSIFT_PREFILTER_KEEP), or a longer MEMSIFT_DEADLINE_MS"
        return warning("job", f"{told}, over the deadline of {settings.deadline_ms} ms", remedy)
    return ok("job", told)
