"""A Sentry that keeps what it is sent."""

import pytest
import sentry_sdk
from sentry_sdk.transport import Transport

from memsift_schemas import WorkerSettings
from memsift_workers import observability


class Recorder(Transport):
    # Shared on purpose: Sentry makes the instance.
    sent: list = []  # noqa: RUF012
    transactions: list = []  # noqa: RUF012

    def capture_envelope(self, envelope):
        self.sent.append(envelope.serialize())
        self.transactions += [item.payload.json for item in envelope.items if item.type == "transaction"]


@pytest.fixture
def sentry(monkeypatch):
    Recorder.sent, Recorder.transactions = [], []
    real = sentry_sdk.init
    monkeypatch.setattr(sentry_sdk, "init", lambda **options: real(transport=Recorder, **options))
    observability.start(WorkerSettings(sentry_dsn="https://key@sentry.invalid/1"))
    yield Recorder
    sentry_sdk.get_client().close()
    sentry_sdk.get_global_scope().set_client(None)
