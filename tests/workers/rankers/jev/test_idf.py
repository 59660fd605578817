"""Terms are counted in a real Redis: each memory once, without a word of it, bounded, for a while."""

import pytest

from memsift_workers.rankers.jev.analysis import analyse
from memsift_workers.rankers.jev.idf import TERMS_PER_MEMORY, IdfStore, unknown
from tests.samples import TEXTS, job, memory


@pytest.fixture
def store(redis, queue):
    return make(redis, queue)


def make(redis, queue, **options):
    return IdfStore(redis, **{"queue": queue, "key": "", "memories": 512, "ttl_s": 60, **options})


async def keys(redis, queue):
    return sorted([key async for key in redis.scan_iter(f"{queue}:*")])


async def pass_by(store, *jobs):
    await store.count(jobs, await store.read(jobs))


async def test_a_memory_is_counted_once_however_often_it_passes(store):
    # Given two memories of which one holds "cabin", When they pass three times, once twice in a batch
    whole = job(query="the cabin", candidates=(memory(0), memory(1)), prior=())
    await pass_by(store, whole)
    await pass_by(store, whole, whole)
    # Then each counts once, and both are known as counted
    (known,) = await store.read([whole])
    assert (known.collection.size, dict(known.collection.holders)) == (2, {"cabin": 1})
    assert known.collection.counted == {0, 1}


async def test_two_workers_that_read_before_either_counts_do_not_count_twice(store):
    whole = job(query="the cabin")
    first, second = await store.read([whole]), await store.read([whole])
    await store.count([whole], first)
    await store.count([whole], second)
    (known,) = await store.read([whole])
    assert known.collection.size == len(whole.candidates)


async def test_what_is_new_in_a_later_job_is_added(store):
    await pass_by(store, job(query="cabin", candidates=(memory(0),), prior=()))
    later = job(query="cabin", candidates=(memory(0), memory(5)), prior=())
    (known,) = await store.read([later])
    assert known.collection.counted == {0}
    await store.count([later], [known])
    (known,) = await store.read([later])
    assert (known.collection.size, known.collection.holders["cabin"]) == (2, 2)


async def test_users_and_deployments_are_apart(store, redis, queue):
    await pass_by(store, job(user="mara"))
    for other_store, user in ((store, "jonas"), (make(redis, f"{queue}-b"), "mara")):
        (known,) = await other_store.read([job(user=user)])
        assert known.collection.size == 0


async def test_redis_holds_no_word_and_no_name(store, redis, queue):
    await pass_by(store, job(user="mara"))
    held = b""
    for key in await keys(redis, queue):
        held += key
        is_set = await redis.type(key) == b"set"
        held += repr(await redis.smembers(key) if is_set else await redis.hgetall(key)).encode()
    assert held
    words = {term for text in TEXTS for term in analyse(text).counts} | {"mara"}
    assert not [word for word in words if len(word) > 3 and word.encode() in held]


async def test_a_secret_changes_every_hash_and_so_does_the_user(redis, queue):
    whole = job(query="cabin", candidates=(memory(0),), prior=())
    fields = []
    for name, options in (("a", {}), ("b", {"key": "secret"})):
        await pass_by(make(redis, f"{queue}{name}", **options), whole)
        (df,) = [key for key in await keys(redis, f"{queue}{name}") if key.endswith(b":df")]
        fields.append(set(await redis.hkeys(df)))
    assert not fields[0] & fields[1]
    await pass_by(make(redis, f"{queue}c"), whole.model_copy(update={"user": "jonas"}))
    (df,) = [key for key in await keys(redis, f"{queue}c") if key.endswith(b":df")]
    assert not fields[0] & set(await redis.hkeys(df))


async def test_it_is_bounded(redis, queue):
    # Given room for two memories, When three pass, one of them with very many words
    store = make(redis, queue, memories=2)
    many = memory(9, text=" ".join(f"word{at}x" for at in range(200)))
    await pass_by(store, job(candidates=(many, memory(0), memory(1)), prior=()))
    (known,) = await store.read([job()])
    assert (known.collection.size, known.full) == (2, True)
    _, df = sorted(await keys(redis, queue), reverse=True)
    assert await redis.hlen(df) <= TERMS_PER_MEMORY + len(analyse(TEXTS[0]).counts)
    # Then nothing more is counted
    await pass_by(store, job())
    assert (await store.read([job()]))[0].collection.size == 2


async def test_counts_of_a_user_who_stays_away_are_forgotten(redis, queue):
    store = make(redis, queue, ttl_s=100)
    whole = job()
    await pass_by(store, whole)
    for key in await keys(redis, queue):
        assert 0 < await redis.ttl(key) <= 100
        await redis.expire(key, 5)
    # When the same memories pass again, Then the counts live on though nothing was new
    await pass_by(store, whole)
    assert [await redis.ttl(key) > 5 for key in await keys(redis, queue)] == [True, True]


async def test_a_question_without_words_reads_too(store):
    await pass_by(store, job())
    (known,) = await store.read([job(query="?!")])
    assert known.collection.holders == {}
    assert known.collection.size == 6


def test_nothing_is_known_while_redis_is_away():
    (known,) = unknown([job()])
    assert (known.collection.size, known.full) == (0, False)
