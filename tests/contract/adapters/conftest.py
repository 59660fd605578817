"""A queue that a real worker serves and one that nobody does; begun elsewhere where the frameworks are."""

import os
import uuid

import pytest

from memsift_producer import SyncReranker
from memsift_producer.adapters import base

URL, QUEUE = "MEMSIFT_REDIS_URL", "MEMSIFT_QUEUE"
# Set by tests/clients/test_adapters.py, whose stack runs: the frameworks' environment has no workers.
BEGUN = "MEMSIFT_TEST_ADAPTERS"


@pytest.fixture(scope="session")
def stack():
    """The URL of a Redis and a queue that a worker serves with `jev`."""
    if os.environ.get(BEGUN):
        yield os.environ[URL], os.environ[QUEUE]
        return
    from memsift_ops.stack import Stack

    with Stack(f"test:{uuid.uuid4().hex[:12]}") as started:
        url = started.start_valkey()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MEMSIFT_RANKER", "jev")
            started.start_worker()
        yield url, started.queue


@pytest.fixture(scope="session")
def served(stack):
    """A reranker whose worker answers."""
    url, queue = stack
    with SyncReranker.from_url(url, queue=queue, deadline_ms=20_000) as one:
        yield one


@pytest.fixture(scope="session")
def unserved(stack):
    """A reranker without any worker."""
    url, queue = stack
    with SyncReranker.from_url(url, queue=f"{queue}:nobody", deadline_ms=150, breaker_failures=1_000) as one:
        yield one


@pytest.fixture
def asked(monkeypatch):
    """The questions that adapters have asked, with the documents as they read them."""
    seen = []
    rank = base.documents.rank

    async def watched(question, ask, **how):
        seen.append(question)
        return await rank(question, ask, **how)

    monkeypatch.setattr(base.documents, "rank", watched)
    return seen
