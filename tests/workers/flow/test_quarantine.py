"""What runtimes died of twice is known to every worker; nothing of its text is."""

from memsift_schemas.redis_link import connect
from memsift_workers.flow.quarantine import BLAMES, REFRESH_EVERY_S, Quarantine
from tests.samples import job


async def test_every_worker_knows_after_a_refresh(redis, queue, clock):
    here, there = Quarantine(redis, queue, clock), Quarantine(redis, queue, clock)
    bad, again = job(), job(user="other", session="s9")
    assert await here.blame(bad) == 1
    assert await there.blame(again) == BLAMES
    clock.advance(REFRESH_EVERY_S)
    await here.refresh()
    assert here.blames(job()) == there.blames(job()) == BLAMES
    assert here.blames(job(query="another?")) == 0


async def test_a_fresh_worker_learns_it_too(redis, queue, clock):
    await Quarantine(redis, queue, clock).blame(job())
    late = Quarantine(redis, queue, clock)
    assert late.blames(job()) == 0
    await late.refresh()
    assert late.blames(job()) == 1


async def test_redis_holds_hashes_that_expire(redis, queue, clock):
    await Quarantine(redis, queue, clock).blame(job())
    for key in (f"{queue}:quarantine", f"{queue}:quarantine:secret"):
        assert await redis.ttl(key) > 0
    ((name, count),) = (await redis.hgetall(f"{queue}:quarantine")).items()
    assert (len(name), count) == (32, b"1")
    # Another queue has another secret: the hash is no checksum of the text.
    other = Quarantine(redis, f"{queue}2", clock)
    await other.blame(job())
    assert await redis.hkeys(f"{queue}2:quarantine") != [name]


async def test_without_redis_a_worker_keeps_its_own(queue, clock):
    link = connect("redis://127.0.0.1:1/0", client_name="test", connections=2)
    alone = Quarantine(link, queue, clock)
    await alone.refresh()
    assert await alone.blame(job()) == 1
    assert await alone.blame(job()) == BLAMES
    assert alone.blames(job()) == BLAMES
    await link.aclose()
