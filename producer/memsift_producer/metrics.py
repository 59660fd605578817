"""A frontend's metrics, for its own `/metrics` or a port of their own: `pip install 'memsift[metrics]'`.

In a frontend:

    metrics = Metrics()  # in prometheus_client's default registry, which the frontend serves already
    metrics.serve(9466)  # or here, where it serves none
    async with Reranker(metrics=metrics) as reranker:
        ...
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from memsift_producer.meter import Meter
from memsift_schemas.errors import InvalidInput
from memsift_schemas.hits import HITS, Hit
from memsift_schemas.metrics import catalogue
from memsift_schemas.metrics.instruments import Instruments, release
from memsift_schemas.metrics.serving import MetricsServer
from memsift_schemas.metrics.shared import Shared, SharedView
from memsift_schemas.result import Cause, RerankResult, Source

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

# Not a model's to answer: there was nothing to rank.
_NO_FALLBACK = frozenset({Cause.NO_CANDIDATES})
# What a worker counts alone.
_NEVER_HERE = frozenset({Cause.CANCELLED})
_NOBODY, _NO_CAUSE = "none", "none"


class Metrics(Meter):
    """Counts what becomes of calls; one for all `Reranker`s of a process.

    Measured, the fastest of 60 runs: 6 us of CPU a call.

    Args:
        registry: where to register; None for prometheus_client's default one. Where processes share a
            directory (`PROMETHEUS_MULTIPROC_DIR`) the frontend's own `MultiProcessCollector` finds all of it.
        gateway: count HTTP calls too.

    Raises:
        SettingsError: prometheus_client is not installed.
    """

    def __init__(self, registry: CollectorRegistry | None = None, *, gateway: bool = False) -> None:
        self._registry = registry
        counted = (*catalogue.SHARED, *catalogue.PRODUCER, *(catalogue.GATEWAY if gateway else ()))
        self._instruments = Instruments(counted, registry)
        self._views: dict[str, SharedView] = {}
        self._instruments.show(catalogue.PRODUCER_INFO, 1, release())
        self._begin_with_zero()

    def serve(self, port: int, host: str = "127.0.0.1") -> MetricsServer:
        """Serve `/metrics` from a thread, until the process ends or what is returned is closed.

        Args:
            port: 0 takes any.
            host: the address; this machine alone by default.

        Raises:
            SettingsError: it cannot be served there.
        """
        from prometheus_client import REGISTRY  # noqa: PLC0415  # an optional extra

        return MetricsServer(self._registry or REGISTRY, host=host, port=port)

    def began(self) -> None:
        """See `Meter.began`."""
        self._instruments.change(catalogue.CALLS_IN_FLIGHT, 1)

    def answered(self, result: RerankResult, seconds: float) -> None:
        """See `Meter.answered`."""
        instruments, source = self._instruments, result.source.value
        instruments.change(catalogue.CALLS_IN_FLIGHT, -1)
        instruments.count(catalogue.CALLS, source, result.cause.value if result.cause else _NO_CAUSE)
        instruments.observe(catalogue.CALL_TIME, seconds, source)
        if "prefilter" in result.timings_ms:
            instruments.observe(catalogue.PREFILTER_TIME, result.timings_ms["prefilter"] / 1e3)
        if result.cause is not None and result.cause not in _NO_FALLBACK:
            instruments.count(catalogue.FALLBACKS, result.cause.value)

    def failed(self, error: BaseException) -> None:
        """See `Meter.failed`."""
        self._instruments.change(catalogue.CALLS_IN_FLIGHT, -1)
        self._instruments.count(catalogue.CALLS, _NOBODY, _why(error))

    def rated(self, ranker: str, prompt_version: str, hit: Hit) -> None:
        """See `Meter.rated`."""
        for one in HITS:  # the first of each would not show as an increase
            self._instruments.begin(catalogue.FEEDBACK, ranker, prompt_version, one)
        self._instruments.count(catalogue.FEEDBACK, ranker, prompt_version, hit)

    def looked(self, queue: str, shared: Shared) -> None:
        """See `Meter.looked`."""
        self._view(queue).saw(shared)

    def lost(self, queue: str) -> None:
        """See `Meter.lost`."""
        self._view(queue).lost()
        self._instruments.show(catalogue.BREAKER_OPEN, 1, queue)

    def opened(self, reason: str) -> None:
        """See `Meter.opened`."""
        self._instruments.count(catalogue.BREAKER_FLIPS, reason)

    def requested(self, dialect: str, status: int) -> None:
        """See `Meter.requested`."""
        self._instruments.count(catalogue.REQUESTS, dialect, str(status))

    def _view(self, queue: str) -> SharedView:
        return self._views.setdefault(queue, SharedView(self._instruments, queue))

    def _begin_with_zero(self) -> None:
        """Else the first of each would not show as an increase."""
        self._instruments.begin(catalogue.CALLS, Source.MODEL.value, _NO_CAUSE)
        for cause in sorted(set(Cause) - _NEVER_HERE):
            self._instruments.begin(catalogue.CALLS, Source.PREFILTER.value, cause.value)
            if cause not in _NO_FALLBACK:
                self._instruments.begin(catalogue.FALLBACKS, cause.value)
        for reason in ("failures", "slow", "redis"):
            self._instruments.begin(catalogue.BREAKER_FLIPS, reason)


def _why(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError):
        return Cause.CANCELLED.value
    return "invalid_input" if isinstance(error, InvalidInput) else "error"
