"""One call as monitors see it: counted, and a span of its trace."""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import TYPE_CHECKING, Self

from memsift_producer.meter import Meter
from memsift_schemas import otel
from memsift_schemas.result import RerankResult

if TYPE_CHECKING:
    from opentelemetry.trace import Span

SPAN = "memsift.rerank"


class Observed:
    """While it lasts the call is in flight, and its span the current one.

    Args:
        meter: counts it.
    """

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._span: Span | None = None
        self._current = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self._meter.began()
        if (tracer := otel.tracer()) is not None:
            self._span = self._current.enter_context(otel.current_span(tracer, SPAN, otel.CLIENT))
        return self

    def answered(self, result: RerankResult, seconds: float) -> None:
        """It has its ranking, so long after it came."""
        self._meter.answered(result, seconds)
        if self._span is not None:
            self._span.set_attributes(
                {
                    "memsift.job": result.job_id,
                    "memsift.candidates": len(result.ranking),
                    "memsift.source": result.source.value,
                    "memsift.cause": result.cause.value if result.cause else "none",
                }
            )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._meter.failed(error)
            if self._span is not None:
                self._span.set_attribute("error.type", type(error).__name__)
        self._current.close()
