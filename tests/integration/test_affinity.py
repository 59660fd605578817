"""Two real workers, each with a runtime of its own: sessions stay, and no job is stranded when one goes."""

import asyncio
import signal
import threading

import orjson
import psutil
import pytest
from celery import Celery
from redis import Redis

from memsift_ops import services
from memsift_producer import Reranker
from memsift_schemas import Source, keys
from memsift_schemas.redis_link import BLOCK_S
from memsift_workers.drain.presence import PRESENCE_EVERY_S, PRESENCE_TTL_S
from tests.integration.servers import until
from tests.integration.test_worker import wait_until, watch
from tests.samples import job, memories

pytestmark = pytest.mark.stack

SESSIONS, TURNS = 8, 4
# One job at a time, so that others wait.
SLOW = {"scripted_ms": 3_000, "batch_max": 1, "batches_in_flight": 1, "runtime_concurrency": 1}


@pytest.fixture
def begin(servers, valkey_url, queue):
    """Start workers of these names and wait until all are ready."""

    def begin(*names, **settings):
        told = {"runtime": "scripted", "redis_url": valkey_url, "queue": queue, "scripted_ms": 1, **settings}
        environment = {f"MEMSIFT_{name.upper()}": str(value) for name, value in told.items()}
        started = [
            servers.start(name, services.worker_command(name, "INFO"), **environment) for name in names
        ]
        for child in started:
            until(lambda: len(services.ready_workers(valkey_url, queue)) == len(names), child=child)
        return started

    return begin


@pytest.fixture
async def frontend(valkey_url, queue):
    """A reranker that has read the cards."""
    opened = []

    async def open_(**settings):
        one = Reranker.from_url(valkey_url, queue=queue, **{"deadline_ms": 20_000, **settings})
        opened.append(one)
        await one.open()
        wanted = 2 if one.settings.affinity else 0
        async with asyncio.timeout(10):
            while len(one._parts.dispatch.affinity.lists) < wanted:
                await asyncio.sleep(0.05)
        return one

    yield open_
    for one in opened:
        await one.close()


def ask(reranker, session):
    return reranker.rerank(query="Where is the key?", memories=memories(4), session=f"s{session}")


class Seen:
    """Which worker received which job, by Celery's events."""

    def __init__(self, url):
        self._app = Celery("watching", broker=url, set_as_current=False)
        self._connection = self._app.connection()
        self.received, self.succeeded, self.names = {}, set(), []
        self._alive = threading.Event()
        handlers = {
            "task-received": self._received,
            "task-succeeded": lambda event: self.succeeded.add(event["uuid"]),
            "worker-heartbeat": lambda _: self._alive.set(),
        }
        self._receiver = self._app.events.Receiver(self._connection, handlers=handlers)
        self._thread = threading.Thread(target=watch, args=(self._receiver,))

    def _received(self, event):
        self.received[event["uuid"]] = event["hostname"]
        self.names.append(event["name"])

    def __enter__(self):
        self._thread.start()
        assert self._alive.wait(20)
        return self

    def __exit__(self, *_):
        self._receiver.should_stop = True
        self._thread.join()
        self._connection.release()
        self._app.close()


@pytest.mark.parametrize("affinity", [True, False])
async def test_a_session_stays_with_its_runtime(begin, frontend, valkey_url, affinity):
    """Given sessions of some turns, when all are asked at once, then each has one worker; without it not."""
    begin("w1", "w2")
    reranker = await frontend(affinity=affinity)
    with Seen(valkey_url) as seen:
        jobs = {}
        for _ in range(TURNS):
            asked = await asyncio.gather(*(ask(reranker, session) for session in range(SESSIONS)))
            assert {one.source for one in asked} == {Source.MODEL}
            for session, one in enumerate(asked):
                jobs.setdefault(session, []).append(one.result.job_id)
        await asyncio.to_thread(wait_until, lambda: len(seen.received) >= SESSIONS * TURNS)
    workers = [{seen.received[one] for one in of_session} for of_session in jobs.values()]
    assert len(set().union(*workers)) == 2
    assert (max(map(len, workers)) == 1) is affinity


def own_list(child, url, queue):
    """The own list of this worker."""
    with Redis.from_url(url) as redis:
        cards = map(orjson.loads, services.cards(redis, queue).values())
    return next(keys.own_key(queue, card["own"]) for card in cards if card["pid"] == child.pid)


def sessions_of(reranker, own):
    """Sessions that have it as their favourite."""
    affinity = reranker._parts.dispatch.affinity
    asked = [job(user="anonymous", session=f"s{at}") for at in range(200)]
    return [at for at, one in enumerate(asked) if affinity.favourite(one).own.key == own]


async def lie(url, own, count):
    """Wait until so many jobs lie in this list."""
    with Redis.from_url(url) as redis:
        await asyncio.to_thread(until, lambda: redis.llen(own) >= count)


@pytest.mark.parametrize("others", [True, False])
async def test_what_waited_for_a_killed_worker_is_ranked_by_another(
    begin, frontend, valkey_url, queue, others
):
    """Given jobs in the list of a worker that gets `kill -9`, then others have them while its card lives."""
    dies, lives = begin("w1", "w2")
    reranker = await frontend(deadline_ms=int((PRESENCE_TTL_S + 3) * 1e3))
    own = own_list(dies, valkey_url, queue)
    for child in [dies] if others else [dies, lives]:
        psutil.Process(child.pid).send_signal(signal.SIGSTOP)
    # A pop under way may still take something, into a process that stands still; Valkey ends it a bit late.
    await asyncio.sleep(2 * BLOCK_S)
    asked = [asyncio.create_task(ask(reranker, session)) for session in sessions_of(reranker, own)[:6]]
    await lie(valkey_url, own, 4)
    for child in [dies] if others else [dies, lives]:
        psutil.Process(child.pid).kill()
    answered = await asyncio.gather(*asked)
    assert {one.source for one in answered} == {Source.MODEL if others else Source.PREFILTER}


async def test_a_worker_that_ends_gives_its_jobs_away_before_it_has_finished(
    begin, frontend, valkey_url, queue
):
    """Given a busy worker, when it gets SIGTERM, then another ranks what waited for it."""
    ends, _ = begin("w1", "w2", **SLOW)
    reranker = await frontend()
    own = own_list(ends, valkey_url, queue)
    session = sessions_of(reranker, own)[0]
    asked = [asyncio.create_task(ask(reranker, session))]
    await asyncio.sleep(0.3)  # it has been taken
    asked.append(asyncio.create_task(ask(reranker, session)))
    await lie(valkey_url, own, 1)
    psutil.Process(ends.pid).send_signal(signal.SIGTERM)
    with Redis.from_url(valkey_url) as redis:
        await asyncio.to_thread(until, lambda: not redis.exists(own))
    assert ends.returncode is None
    answered = await asyncio.gather(*asked)
    assert {one.source for one in answered} == {Source.MODEL}
    await asyncio.to_thread(until, lambda: ends.returncode == 0)


async def test_sessions_of_who_left_move_and_come_back(begin, frontend, valkey_url, queue):
    """Given two, when one leaves and comes again, then its sessions go to the other and back."""
    leaves, _ = begin("w1", "w2")
    reranker = await frontend()
    own = own_list(leaves, valkey_url, queue)
    affinity = reranker._parts.dispatch.affinity
    leaves.terminate()
    leaves.wait(hurry=lambda: False)
    async with asyncio.timeout(PRESENCE_TTL_S + 5 * PRESENCE_EVERY_S):
        while len(affinity.lists) > 1:
            await asyncio.sleep(0.05)
    assert {one.source for one in await asyncio.gather(*(ask(reranker, at) for at in range(8)))} == {
        Source.MODEL
    }
    begin("w1")
    async with asyncio.timeout(20):
        while own not in [one.key for one in affinity.lists]:
            await asyncio.sleep(0.05)
