"""A Redis and a queue that a real worker serves, and one that nobody serves."""

import uuid

import pytest

from memsift_ops.stack import Stack


@pytest.fixture(scope="session")
def stack():
    with Stack(f"test:{uuid.uuid4().hex[:12]}") as started:
        started.start_valkey()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MEMSIFT_RANKER", "jev")
            started.start_worker()
        yield started


@pytest.fixture
def environment(stack, monkeypatch):
    """Sets what an example reads: a queue with a worker, or without."""

    def tell(*, served):
        monkeypatch.setenv("MEMSIFT_REDIS_URL", stack.redis_url)
        monkeypatch.setenv("MEMSIFT_QUEUE", stack.queue if served else f"{stack.queue}:nobody")
        monkeypatch.setenv("MEMSIFT_DEADLINE_MS", "9000" if served else "150")

    return tell
