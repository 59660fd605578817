"""The pytest fixture `embedded_runtime`, for a conftest or a test module to import."""

import asyncio
import functools
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from memsift_workers.models.errors import PullFailed
from memsift_workers.models.store import pull_default_model
from memsift_workers.runtimes.embedded import EmbeddedRuntime


@functools.cache
def _shared_runtime():
    """Start the one engine of this process, however many modules import the fixture; it ends with it."""
    runtime = EmbeddedRuntime(pull_default_model(), cache_mb=256)
    # On a thread of its own, because a fixture that asks for this one may be running in an event loop.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(runtime.start())).result()
    return runtime


@pytest.fixture(scope="session")
def embedded_runtime():
    """The embedded runtime with its default model, started; the model is fetched if it is not here.

    Skips when it cannot be fetched, except in CI.
    """
    try:
        return _shared_runtime()
    except PullFailed as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
