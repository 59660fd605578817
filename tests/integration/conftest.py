"""Real worker processes with the runtime that has no model: everything but the engine."""

import uuid

import pytest

from memsift_ops.stack import Stack


class Running:
    """A stack with one worker, and how to reach it."""

    def __init__(self, stack, url, queue, info):
        self.stack, self.url, self.queue, self.info = stack, url, queue, info


@pytest.fixture
def start_worker(monkeypatch):
    """Start Valkey and a worker with these settings; both are stopped after the test."""
    stacks = []

    def start(**settings):
        for name, value in {"runtime": "scripted", "scripted_ms": 15, **settings}.items():
            monkeypatch.setenv(f"MEMSIFT_{name.upper()}", str(value))
        queue = f"test:{uuid.uuid4().hex[:12]}"
        stack = Stack(queue)
        stacks.append(stack)
        return Running(stack, stack.start_valkey(), queue, stack.start_worker())

    yield start
    for stack in stacks:
        stack.stop()


@pytest.fixture(scope="session")
def running():
    """One worker for all tests that leave it as it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMSIFT_RUNTIME", "scripted")
        queue = f"test:{uuid.uuid4().hex[:12]}"
        with Stack(queue) as stack:
            yield Running(stack, stack.start_valkey(), queue, stack.start_worker())
