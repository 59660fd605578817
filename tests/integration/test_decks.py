"""A session's deck through a real worker: from turn to turn, warmed, and forgotten."""

import asyncio

import pytest
from redis.asyncio import Redis

from memsift_ops.services import cards, client
from memsift_producer import Reranker
from memsift_schemas.deck_use import Miss
from tests.samples import memories

pytestmark = pytest.mark.stack


@pytest.fixture
async def asking(start_worker):
    """A frontend of a worker that has decks, and the worker's stack."""
    running = start_worker(strategy="listwise")
    async with Reranker.from_url(running.url, queue=running.queue, deadline_ms=5_000) as reranker:

        async def ask(*numbers, session="s1"):
            chosen = [memories(20)[at] for at in numbers]
            asked = await reranker.rerank(
                query="Where is the key?", memories=chosen, user="mara", session=session
            )
            assert asked.cause is None
            return asked.result.deck

        yield ask, reranker, running


async def test_each_turn_tells_of_its_deck_and_the_worker_adds_them_up(asking):
    ask, _, running = asking
    first, second, other = await ask(0, 1, 2), await ask(2, 3), await ask(0, session="s2")
    assert (first.turn, first.memories, first.miss) == (1, 3, Miss.FIRST_TURN)
    assert (second.turn, second.memories, second.stale) == (2, 4, 2)
    assert other.turn == 1
    await asyncio.sleep(1.2)  # a card is written once a second
    with client(running.url) as link:
        (card,) = cards(link, running.queue).values()
    assert b'"first_turn":{"turns":2' in card


async def test_a_forgotten_memory_is_nowhere_on_redis_and_the_session_begins_anew(asking):
    ask, reranker, running = asking
    await ask(0, 1)
    redis = Redis.from_url(running.url)
    secret = memories(20)[1].text.encode()
    kept = [await redis.get(key) for key in await redis.keys(f"{running.queue}:deck:*")]
    assert [secret in one for one in kept] == [True]
    await reranker.forget(user="mara", memories=["m1"])
    assert await redis.keys(f"{running.queue}:deck:*") == []
    assert (await ask(0, 2)).turn == 1
    # A job that still holds it is ranked, and leaves no deck behind.
    assert (await ask(0, 1)).turn == 2
    kept = [await redis.get(key) for key in await redis.keys(f"{running.queue}:deck:*")]
    assert [secret in one for one in kept] == [False]
    await redis.aclose()


async def test_a_conversation_that_was_warmed_has_its_deck_before_the_first_question(asking):
    ask, reranker, _ = asking
    assert await reranker.warm(user="mara", session="s1", memories=[memories(20)[at] for at in range(4)])
    for _ in range(50):  # nobody is told when it is done
        await asyncio.sleep(0.05)
        deck = await ask(0, 1, session="s1")
        if deck.memories == 4:
            break
    assert deck.memories == 4
