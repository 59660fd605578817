"""A fake SGLang server, and runtimes that are connected to it."""

import pytest

from memsift_workers.runtimes import sglang_tokens
from memsift_workers.runtimes.sglang import SGLangRuntime
from tests.workers.runtimes.fake_sglang import FakeSGLang


@pytest.fixture
async def fake_server():
    async with FakeSGLang() as fake:
        yield fake


@pytest.fixture
async def connect_sglang(monkeypatch):
    """Make a started runtime; all are closed at the end."""
    monkeypatch.setattr(sglang_tokens, "PROBE_INTERVAL", 0.01)
    runtimes = []

    async def make(fake, **options):
        runtime = SGLangRuntime(fake.url, **options)
        runtimes.append(runtime)
        await runtime.start()
        fake.generated.clear()
        fake.tokenized.clear()
        return runtime

    yield make
    for runtime in runtimes:
        await runtime.close()
