"""Once a second a worker shows what is so just now: lists, workers, breaker, Redis, its own clock."""

import asyncio
import urllib.request

import pytest

from memsift_ops import valkey
from memsift_schemas import message, wire
from memsift_schemas.clock import ServerClock
from memsift_schemas.keys import breaker_key, own_key, own_lists_key, workers_key
from memsift_schemas.redis_link import end, measure
from memsift_schemas.settings import WorkerSettings
from memsift_workers.flow.limiter import Limiter
from memsift_workers.health import Health
from memsift_workers.metering import metrics as module
from memsift_workers.metering.look import Look
from memsift_workers.metering.metrics import Metrics, Watched
from tests.conftest import ManualClock
from tests.samples import job


@pytest.fixture
def server_clock():
    return ServerClock()


@pytest.fixture
def push(redis, queue, server_clock):
    async def push(key, waited_s=0.0, **fields):
        now = server_clock.time()
        whole = job(sent_at=now - waited_s, deadline=now + 60, **fields)
        await redis.lpush(key, message.build(whole, wire.encode_job(whole), queue))

    return push


@pytest.fixture
async def look(redis, queue, server_clock):
    await measure(redis, server_clock)
    return Look(redis, queue, server_clock)


async def test_depth_and_age_of_each_list(look, push, redis, queue, server_clock):
    await redis.zadd(own_lists_key(queue), {"r1": 1})
    await push(queue, waited_s=3)
    await push(queue)
    await push(own_key(queue, "r1"), waited_s=7)
    first, second = await look.once(), await look.once()
    assert (first.queue.depth, first.own) == (2, {})
    now = server_clock.time()
    assert second.queue.age_s(now) == pytest.approx(3, abs=1)
    assert second.own["r1"].depth == 1
    assert second.own["r1"].age_s(now) == pytest.approx(7, abs=1)


async def test_words_in_a_job_cannot_pass_for_its_age(look, push, queue, server_clock):
    await push(queue, waited_s=2, query='","expires":"2020-01-01T00:00:00+00:00","sent_at":1.0')
    seen = await look.once()
    assert seen.queue.age_s(server_clock.time()) == pytest.approx(2, abs=1)


async def test_workers_breaker_and_memory(look, redis, queue, server_clock):
    now = server_clock.time()
    await redis.zadd(workers_key(queue), {"here": now, "gone": now - 30})
    assert not (await look.once()).breaker_open
    await redis.hset(breaker_key(queue), "state", "open")
    seen = await look.once()
    assert (seen.workers, seen.breaker_open) == (1, True)
    memory = await redis.info("memory")
    assert seen.memory_used == pytest.approx(memory["used_memory"], rel=0.2)
    # None is set, so all there is.
    assert seen.memory_limit == memory["total_system_memory"]


async def test_with_maxmemory_that_is_the_limit(look, redis):
    await redis.config_set("maxmemory", 100_000_000)
    try:
        assert (await look.once()).memory_limit == 100_000_000
    finally:
        await redis.config_set("maxmemory", 0)


async def test_what_its_user_may_not_read_is_left_out_and_told_once(look, redis, queue, valkey_url, caplog):
    """Given the rights of an older ACL file, without INFO and the breaker."""
    await redis.execute_command(
        "ACL", "SETUSER", "older", "on", ">pw", "~*", "-@all", "+eval", "+evalsha", "+script|load", "+zcount",
        "+zrange", "+llen", "+lindex", "+client|setinfo", "+select",
    )  # fmt: skip
    from redis.asyncio import Redis

    async with Redis.from_url(valkey_url, username="older", password="pw") as client:
        older = Look(client, queue, ServerClock())
        seen = [await older.once() for _ in range(3)]
    await redis.execute_command("ACL", "DELUSER", "older")
    assert {(one.memory_used, one.memory_limit, one.breaker_open) for one in seen} == {(None, None, False)}
    assert caplog.text.count("+info") == 1


@pytest.fixture
def metrics(queue, monkeypatch):
    monkeypatch.setattr(module, "LOOK_EVERY_S", 0.02)
    one = Metrics.start(WorkerSettings(queue=queue, metrics_port=valkey.free_port()))
    yield one
    one.close()


async def scrape(metrics):
    def get():
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics.server.port}/metrics", timeout=5) as answer:
            return answer.read().decode()

    return await asyncio.to_thread(get)


async def shown(metrics, line, seconds=5.0):
    async with asyncio.timeout(seconds):
        while line not in (text := await scrape(metrics)):
            await asyncio.sleep(0.02)
    return text


async def test_what_is_so_just_now_is_shown(metrics, redis, queue, push):
    local = ManualClock()
    clock = ServerClock(local)
    # This machine is two seconds ahead of the server.
    clock.measured(local.now - 2, sent=local.now, received=local.now)
    limiter = Limiter(24, batches=4)
    watching = asyncio.create_task(metrics.watch(redis, Watched(limiter, Health(clock), clock)))
    await push(queue)
    text = await shown(metrics, f'memsift_queue_jobs{{list="queue",queue="{queue}"}} 1.0')
    limiter.limit = 7
    text = await shown(metrics, "memsift_worker_limit_jobs 7.0")
    await end([watching])
    assert "memsift_worker_clock_skew_seconds 2.0" in text
    assert "memsift_worker_fit 1.0" in text
    assert "memsift_redis_up 1.0" in text
    assert "memsift_redis_memory_used_bytes" in text


async def test_a_redis_that_goes_away_shows(metrics):
    from redis.asyncio import Redis

    clock = ServerClock()
    gone = Redis.from_url("redis://127.0.0.1:1/0")
    watched = Watched(Limiter(24, batches=4), Health(clock), clock)
    watching = asyncio.create_task(metrics.watch(gone, watched))
    await shown(metrics, "memsift_redis_up 0.0")
    await end([watching])
    await gone.aclose()


def test_what_the_worker_is_stands_in_its_info(metrics):
    class Ranker:
        name, model, prompt_version = "local", "a-model", "likelihood-1a2b"

    metrics.tell(Ranker())
    text = asyncio.run(scrape(metrics))
    (line,) = [line for line in text.splitlines() if line.startswith("memsift_worker_info{")]
    for told in ('model="a-model"', 'prompt="likelihood-1a2b"', 'ranker="local"', 'strategy="likelihood"'):
        assert told in line


def test_without_a_port_there_are_none(queue):
    assert Metrics.start(WorkerSettings(queue=queue)) is None
