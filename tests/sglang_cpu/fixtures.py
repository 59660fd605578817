"""The pytest fixtures `sglang_server` and `sglang_process`, for a conftest to import."""

from __future__ import annotations

import atexit
import functools
import os
from contextlib import ExitStack

import pytest

from tests.sglang_cpu.server import Server, serve

ENABLED = "MEMSIFT_TEST_SGLANG"


@functools.cache
def _shared() -> Server:
    """Start the one server of this process, however many conftests import the fixture."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(serve())


@pytest.fixture(scope="session")
def sglang_process() -> Server:
    """A real SGLang server with SmolLM2-135M-Instruct; ends with the test run. Who kills it starts it again.

    Skips unless `MEMSIFT_TEST_SGLANG=1`; with it, a server that cannot be had is an error.
    """
    if os.environ.get(ENABLED) != "1":
        pytest.skip(f"{ENABLED} is not 1 (make test-sglang): would install 1.6 GB and start a real SGLang")
    return _shared()


@pytest.fixture(scope="session")
def sglang_server(sglang_process: Server) -> str:
    """Its base URL."""
    return sglang_process.url
