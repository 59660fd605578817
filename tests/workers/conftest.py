"""A Sentry that keeps what it is sent."""

import pytest
import sentry_sdk

from memsift_schemas.settings import WorkerSettings
from memsift_workers import observability
from tests.sentry_recorder import Recorder


@pytest.fixture
def sentry(monkeypatch):
    Recorder.forget()
    real = sentry_sdk.init
    monkeypatch.setattr(sentry_sdk, "init", lambda **options: real(transport=Recorder, **options))
    observability.start(WorkerSettings(sentry_dsn="https://key@sentry.invalid/1"))
    yield Recorder
    sentry_sdk.get_client().close()
    sentry_sdk.get_global_scope().set_client(None)
