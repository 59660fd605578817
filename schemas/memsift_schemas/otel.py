"""OpenTelemetry, where its SDK runs: a tracer, the trace's headers, and an exporter for processes of our own.

Spans hold ids, counts and durations. What an exception says is never recorded: it may hold text.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

try:
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    _PROPAGATOR: Any = TraceContextTextMapPropagator()
    CLIENT: Any = trace.SpanKind.CLIENT
    CONSUMER: Any = trace.SpanKind.CONSUMER
except ImportError:  # the extra `traces` is not installed
    trace = None  # type: ignore[assignment]
    CLIENT = CONSUMER = None

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, Span, Tracer

log = logging.getLogger("memsift.traces")

# OpenTelemetry's own variables; either one switches the export on.
# https://opentelemetry.io/docs/specs/otel/protocol/exporter/
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
TRACEPARENT = "traceparent"
# How long an ending process tries to deliver its last spans.
LAST_SPANS_S = 1.0


def tracer() -> Tracer | None:
    """Ours; None where no SDK has been started, so that nothing would come of a span."""
    if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return None
    return trace.get_tracer("memsift")


def current_span(tracer: Tracer, name: str, kind: Any, **options: Any) -> Any:
    """A span that is the current one inside its `with` block, and records nothing of an exception.

    Args:
        tracer: from `tracer`.
        name: the span's.
        kind: `CLIENT` and the like.
        **options: of `Tracer.start_as_current_span`.
    """
    return tracer.start_as_current_span(
        name, kind=kind, record_exception=False, set_status_on_exception=False, **options
    )


def use(span: Span) -> Any:
    """Make a span the current one inside a `with` block, without ending it."""
    return trace.use_span(span, record_exception=False, set_status_on_exception=False)


def is_traced() -> bool:
    """Whether there is a current span, and it is sampled."""
    return trace is not None and trace.get_current_span().is_recording()


def link(span: Span) -> Link:
    """A link to a span of another trace."""
    return trace.Link(span.get_span_context())


def headers() -> dict[str, str]:
    """The current span in W3C Trace Context (`traceparent`, `tracestate`); empty where there is none.

    Baggage, which may hold anything, is left out.
    """
    found: dict[str, str] = {}
    if tracer() is not None:
        _PROPAGATOR.inject(found)
    return found


def context(carrier: Mapping[str, str]) -> Context | None:
    """The trace that a job came with, if its sender samples it."""
    if not carrier.get(TRACEPARENT) or tracer() is None:
        return None
    found: Context = _PROPAGATOR.extract(carrier)
    span = trace.get_current_span(found).get_span_context()
    return found if span.is_valid and span.trace_flags.sampled else None


def export(service: str) -> Callable[[], None]:
    """Send this process's spans to where OpenTelemetry's variables say; nothing where they say nothing.

    Args:
        service: its name there, unless `OTEL_SERVICE_NAME` is set.

    Returns:
        Delivers the last ones; call it at the end.
    """
    if not any(os.environ.get(name) for name in ENDPOINTS) or tracer() is not None:
        return lambda: None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        log.warning("no traces are sent: pip install 'memsift[traces]'")
        return lambda: None
    name = os.environ.get("OTEL_SERVICE_NAME") or service
    # At exit it would wait for a collector that is away; `deliver` does not.
    provider = TracerProvider(resource=Resource.create({"service.name": name}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)

    def deliver() -> None:
        provider.force_flush(int(LAST_SPANS_S * 1e3))

    return deliver
