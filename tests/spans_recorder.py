"""OpenTelemetry's SDK with an exporter that keeps what it is sent, in place of the process's own provider."""

import contextlib

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class Spans:
    """What has been exported."""

    def __init__(self, exporter):
        self._exporter = exporter

    def named(self, name):
        return [span for span in self._exporter.get_finished_spans() if span.name == name]

    def one(self, name):
        (span,) = self.named(name)
        return span

    def told(self):
        """All that has been exported, as text."""
        return "".join(span.to_json() for span in self._exporter.get_finished_spans())

    def __len__(self):
        return len(self._exporter.get_finished_spans())


@contextlib.contextmanager
def recorded(monkeypatch, sampler=None):
    """The SDK runs inside the block."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(sampler=sampler)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with monkeypatch.context() as patch:
        patch.setattr(trace, "_TRACER_PROVIDER", provider)
        yield Spans(exporter)
    provider.shutdown()
