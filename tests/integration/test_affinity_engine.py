"""Two workers with an engine each, no router: a session's later turns are served from the first one's KV."""

import asyncio
import os

import pytest

from memsift_producer import Reranker
from memsift_schemas import Source
from tests.integration.test_affinity import Seen, begin, frontend
from tests.integration.test_worker import wait_until
from tests.samples import memories

__all__ = ["begin", "frontend"]

# Two engines on two cores take their time to load.
pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

# An odd number: idle workers take jobs off one list in turn, so that without affinity a session's second turn
# goes to the other worker.
SESSIONS = 5
QUESTIONS = ("Where is the spare key?", "What is Mara allergic to?", "When is the water turned off?")


async def cached(reranker: Reranker, session, turn):
    """The share of a turn's prompt that came from the cache."""
    ranked = await reranker.rerank(
        query=QUESTIONS[turn], memories=memories(6), user=f"u{session}", session="s"
    )
    assert (ranked.source, ranked.cause) == (Source.MODEL, None)
    return ranked.result.cached_tokens / ranked.result.prompt_tokens


@pytest.fixture
def engines(begin, embedded_runtime):
    """Two workers; the model is there, since the fixture has fetched it."""
    threads = max((os.cpu_count() or 2) // 2, 1)
    begin("w1", "w2", runtime="embedded", embedded_cache_mb=128, embedded_threads=threads)


@pytest.mark.parametrize("warmed", [True, False])
async def test_a_first_question_meets_what_was_warmed(engines, frontend, valkey_url, warmed):
    reranker = await frontend(deadline_ms=60_000)
    with Seen(valkey_url) as seen:
        if warmed:
            opened = [
                await reranker.warm(user=f"u{session}", session="s", memories=memories(6))
                for session in range(SESSIONS)
            ]
            assert all(opened)
            await asyncio.to_thread(wait_until, lambda: len(seen.succeeded) == SESSIONS)
            assert seen.names == ["memsift.warm"] * SESSIONS
            assert len(set(seen.received.values())) == 2
    shares = [await cached(reranker, session, 0) for session in range(SESSIONS)]
    assert all(share > 0.5 for share in shares) is warmed


@pytest.mark.parametrize("affinity", [True, False])
async def test_later_turns_land_where_the_first_did(engines, frontend, affinity):
    reranker = await frontend(affinity=affinity, deadline_ms=60_000)
    first, *later = [
        [await cached(reranker, session, turn) for session in range(SESSIONS)]
        for turn in range(len(QUESTIONS))
    ]
    assert max(first) < 0.5
    hits = [share > 0.5 for turn in later for share in turn]
    assert all(hits) is affinity
