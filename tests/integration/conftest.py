"""Real worker processes with the runtime that has no model: everything but the engine."""

import uuid

import pytest

from memsift_ops.stack import Stack
from tests.integration.servers import Servers


class Running:
    """A stack with one worker, and how to reach it."""

    def __init__(self, stack, url, queue, info):
        self.stack, self.url, self.queue, self.info = stack, url, queue, info


def start(stack, queue, **settings):
    """Valkey and a worker with these settings; the settings are gone from the environment afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"runtime": "scripted", "scripted_ms": 15, **settings}.items():
            patch.setenv(f"MEMSIFT_{name.upper()}", str(value))
        return Running(stack, stack.start_valkey(), queue, stack.start_worker())


@pytest.fixture
def start_worker(queue):
    """Start Valkey and a worker with these settings; both are stopped after the test."""
    with Stack(queue) as stack:
        yield lambda **settings: start(stack, queue, **settings)


@pytest.fixture(scope="session")
def running():
    """One worker for all tests that leave it as it is."""
    queue = f"test:{uuid.uuid4().hex[:12]}"
    with Stack(queue) as stack:
        yield start(stack, queue)


@pytest.fixture
def mailbox():
    """A reply list that no other test reads, of any queue."""
    name = uuid.uuid4().hex
    return lambda queue: f"{queue}:reply:{name}"


@pytest.fixture
def servers(tmp_path):
    """Processes of a test's own, stopped after it."""
    one = Servers(tmp_path)
    yield one
    one.stop()
