"""OpenTelemetry spans of a worker: what a job waited for, the batch that it was in, the runtime.

Each sampled job has a span of its own for the first two, in its frontend's trace. The runtime sees one
request for the whole batch: its span stands in the first one's trace and has links to the others.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING

from memsift_schemas import otel
from memsift_schemas.clock import Clock
from memsift_schemas.job import RerankJob

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

QUEUE, BATCH, RUNTIME = "memsift.queue", "memsift.batch", "memsift.runtime"

# The spans of the current batch's other sampled jobs.
_beside: ContextVar[tuple[Span, ...]] = ContextVar("beside", default=())


@contextlib.contextmanager
def ranking(jobs: Sequence[RerankJob], *, queue: str, popped_at: float, clock: Clock) -> Iterator[None]:
    """While it lasts, each sampled job of a batch has its span.

    Args:
        jobs: the batch.
        queue: where they came from.
        popped_at: unix seconds on the deadline clock.
        clock: the deadline clock. Spans are on this machine's.
    """
    tracer = otel.tracer()
    sampled = (
        [(job, found) for job in jobs if (found := otel.context(job.trace)) is not None] if tracer else []
    )
    if tracer is None or not sampled:
        yield
        return
    now_ns, now = time.time_ns(), clock.time()

    def local_ns(at: float) -> int:
        return now_ns - int((now - at) * 1e9)

    popped_ns = local_ns(popped_at)
    for job, parent in sampled:
        if job.sent_at is not None:
            sent_ns = min(local_ns(job.sent_at), popped_ns)
            tracer.start_span(QUEUE, parent, start_time=sent_ns).end(popped_ns)
    spans = [_begin(tracer, job, parent, queue, popped_ns, len(jobs)) for job, parent in sampled]
    token = _beside.set(tuple(spans[1:]))
    try:
        with otel.use(spans[0]):
            yield
    finally:
        _beside.reset(token)
        for span in spans:
            span.end()


@contextlib.contextmanager
def runtime(name: str, prompts: int) -> Iterator[None]:
    """While it lasts, the current batch is in a runtime."""
    tracer = otel.tracer()
    if tracer is None or not otel.is_traced():
        yield
        return
    attributes = {"memsift.runtime": name, "memsift.prompts": prompts}
    links = [otel.link(span) for span in _beside.get()]
    with otel.current_span(tracer, RUNTIME, otel.CLIENT, attributes=attributes, links=links):
        yield


def _begin(tracer: Tracer, job: RerankJob, parent: Context, queue: str, popped_ns: int, size: int) -> Span:
    # Names: https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/
    return tracer.start_span(
        BATCH,
        parent,
        kind=otel.CONSUMER,
        start_time=popped_ns,
        attributes={
            "messaging.message.id": job.id,
            "messaging.destination.name": queue,
            "messaging.batch.message_count": size,
            "memsift.candidates": len(job.candidates),
        },
    )
