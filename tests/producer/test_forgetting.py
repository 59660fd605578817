"""A memory that the user deletes is in no deck from then on."""

import pytest
from redis.asyncio import Redis

from memsift_producer import NotForgotten, Reranker, SyncReranker
from memsift_producer.forgetting import forget
from memsift_schemas.errors import InvalidInput
from memsift_schemas.keys import deck_key, decks_key, forgotten_key


@pytest.fixture
async def decks(redis, queue):
    """Two sessions of Mara and one of Eve."""
    for user, session in (("mara", "s1"), ("mara", "s2"), ("eve", "s1")):
        key = deck_key(queue, user, session)
        await redis.set(key, "deck")
        await redis.sadd(decks_key(queue, user), key)
    return [deck_key(queue, "mara", "s1"), deck_key(queue, "mara", "s2"), deck_key(queue, "eve", "s1")]


async def test_all_decks_of_the_user_go_and_nobody_elses(valkey_url, redis, queue, decks):
    async with Reranker.from_url(valkey_url, queue=queue) as reranker:
        await reranker.forget(user="mara", memories=["m1", "m2"])
    assert [await redis.exists(key) for key in decks] == [0, 0, 1]
    noted = forgotten_key(queue, "mara")
    assert await redis.smembers(noted) == {b"m1", b"m2"}
    assert 0 < await redis.ttl(noted) <= 600


def test_threads_can_forget_too(valkey_url, queue):
    with SyncReranker.from_url(valkey_url, queue=queue) as reranker:
        reranker.forget(user="mara", memories=["m1"])


async def test_nothing_to_forget_is_nothing_done(redis, queue, decks):
    await forget(redis, queue, user="mara", memories=[])
    assert await redis.exists(*decks) == 3


@pytest.mark.parametrize("wrong", [{"user": "", "memories": ["m1"]}, {"user": "u", "memories": ["m\x00"]}])
async def test_what_is_no_id_is_refused(redis, queue, wrong):
    with pytest.raises(InvalidInput, match="user or memories"):
        await forget(redis, queue, **wrong)


async def test_a_redis_that_is_away_is_said_and_not_passed_over():
    away = Redis(host="127.0.0.1", port=1)
    with pytest.raises(NotForgotten, match="ask again"):
        await forget(away, "q", user="mara", memories=["m1"])
