"""`warm()` sends a job without a question where the session's questions will go, or says that it did not."""

import asyncio
import time

import orjson
import pytest
from redis.exceptions import ConnectionError as RedisGone

from memsift_producer import Reranker, SyncReranker
from memsift_producer import warming as module
from memsift_schemas import keys, message, wire
from memsift_schemas.errors import InvalidInput
from memsift_schemas.keys import warm_key
from tests.samples import memories

OPEN = {"user": "mara", "session": "s1", "memories": memories(6)}


def card(runtime="", serves=("local",)):
    return orjson.dumps({"own": runtime, "serves": serves, "limit": 24})


@pytest.fixture
async def present(redis, queue):
    """Put workers' cards on Redis."""

    async def present(**cards):
        for name, said in cards.items():
            await redis.set(keys.worker_key(queue, name), said, ex=60)
            await redis.zadd(keys.workers_key(queue), {name: time.time() + 60})

    return present


@pytest.fixture
def open_(valkey_url, queue):
    return lambda **settings: Reranker.from_url(valkey_url, queue=queue, **settings)


async def only(redis, key):
    (item,) = await redis.lrange(key, 0, -1)
    return message.read(item), wire.load_job(message.read(item).job)


async def test_it_sends_the_memories_and_no_question(open_, present, redis, queue):
    await present(w=card())
    turns = [{"role": "user", "text": "Hello."}]
    async with open_(prefilter_keep=4) as reranker:
        assert await reranker.warm(**OPEN, turns=turns)
    envelope, job = await only(redis, warm_key(queue))
    assert envelope.task == "memsift.warm"
    assert (job.warm, job.query, job.user, job.session, job.reply_to) == (True, "", "mara", "s1", None)
    assert (len(job.candidates), len(job.turns)) == (4, 1)
    assert 0 < job.deadline - job.sent_at <= module.WARM_S
    assert 0 < await redis.pttl(warm_key(queue)) <= module.WARM_S * 1e3
    assert await redis.llen(queue) == 0


async def test_it_goes_where_the_sessions_questions_go(open_, present, redis, queue):
    await present(w=card("a"), v=card("b"))
    async with open_() as reranker:
        for at in range(20):
            assert await reranker.warm(**{**OPEN, "session": f"s{at}"})
        lists = {}
        for runtime in "ab":
            for item in await redis.lrange(warm_key(queue, runtime), 0, -1):
                job = wire.load_job(message.read(item).job)
                lists[job.session] = runtime
                favourite = reranker._parts.dispatch.affinity.favourite(job)
                assert favourite.own.runtime == runtime
    assert len(lists) == 20
    assert set(lists.values()) == {"a", "b"}


async def test_nothing_is_sent_while_a_job_waits(open_, present, redis, queue):
    await present(w=card("a"), v=card("b"))
    async with open_() as reranker:
        for key in (queue, keys.own_key(queue, "a"), keys.own_key(queue, "b")):
            await redis.lpush(key, "job")
        assert not await reranker.warm(**OPEN)
        await redis.delete(queue)
        assert not await reranker.warm(**OPEN)
        await redis.delete(keys.own_key(queue, "a"), keys.own_key(queue, "b"))
        assert await reranker.warm(**OPEN)


async def test_the_list_is_bounded(open_, present, redis, queue, monkeypatch):
    monkeypatch.setattr(module, "MOST", 2)
    await present(w=card())
    async with open_() as reranker:
        assert [await reranker.warm(**OPEN) for _ in range(3)] == [True, True, False]


async def test_a_worker_that_has_died_gets_none(open_, present, redis, queue):
    await present(w=card("a"), v=card("b"))
    async with open_() as reranker:
        await redis.delete(keys.worker_key(queue, "w"), keys.worker_key(queue, "v"))
        assert not await reranker.warm(**OPEN)


@pytest.mark.parametrize("serves", [("jev",), ("local>clef",)])
async def test_nothing_is_sent_where_nobody_would_keep_it(open_, present, redis, serves):
    await present(w=card(serves=serves))
    async with open_() as reranker:
        assert await reranker.warm(**OPEN) is (serves != ("jev",))
        assert not await reranker.warm(**OPEN, ranker="local")


async def test_with_the_breaker_open_nothing_is_sent(open_, present, redis, queue):
    await present(w=card())
    async with open_() as reranker:
        reranker.breaker.away = True
        assert not await reranker.warm(**OPEN)


async def test_a_fault_is_no_exception(open_, present):
    await present(w=card())
    async with open_() as reranker:

        async def gone(*_):
            raise RedisGone

        reranker._parts.warm_ups._push = gone
        assert not await reranker.warm(**OPEN)
    assert not await reranker.warm(**OPEN)  # closed


async def test_a_redis_that_hangs_is_not_waited_for(open_, present, monkeypatch):
    monkeypatch.setattr(module, "SEND_WAIT_S", 0.05)
    await present(w=card())
    async with open_() as reranker:
        released = asyncio.Event()

        async def hangs(*_):
            await released.wait()
            return 1

        reranker._parts.warm_ups._push = hangs
        async with asyncio.timeout(1):
            assert not await reranker.warm(**OPEN)
        released.set()


@pytest.mark.parametrize(
    "wrong",
    [
        {"memories": [{"id": "a", "text": "xyzzy"}]},
        {"user": " a"},
        {"turns": [{"role": "x", "text": "xyzzy"}]},
    ],
)
async def test_a_wrong_argument_raises_and_its_text_is_not_told(open_, wrong):
    async with open_() as reranker:
        with pytest.raises(InvalidInput) as caught:
            await reranker.warm(**{**OPEN, **wrong})
    assert "xyzzy" not in str(caught.value)


async def test_sealed_it_tells_nothing(open_, present, redis, queue):
    await present(w=card())
    async with open_(seal_keys="k1:" + "07" * 32) as reranker:
        assert await reranker.warm(**OPEN)
    (item,) = await redis.lrange(warm_key(queue), 0, -1)
    assert b"spare key" not in item


async def test_without_memories_there_is_nothing_to_warm(open_, present):
    await present(w=card())
    async with open_() as reranker:
        assert not await reranker.warm(**{**OPEN, "memories": []})


async def test_threads_have_it_too(valkey_url, queue, present, redis):
    await present(w=card())

    def warm():
        with SyncReranker.from_url(valkey_url, queue=queue) as reranker:
            return reranker.warm(**OPEN)

    assert await asyncio.to_thread(warm)
    assert await redis.llen(warm_key(queue)) == 1
