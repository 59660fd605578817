"""A warm-up is done when nothing else is, gives way to any question, and leaves no trace of its text."""

import asyncio
import logging

import pytest

from memsift_schemas import Cause, SystemClock, message, wire
from memsift_schemas.keys import warm_key
from memsift_schemas.redis_link import end
from memsift_schemas.settings import WorkerSettings
from memsift_workers.drain.batch import BatchHandler
from memsift_workers.drain.delivery import Poison, receive
from memsift_workers.drain.popped import Popped
from memsift_workers.drain.warming import WarmUps
from memsift_workers.flow.limiter import Limiter
from memsift_workers.flow.shared_limit import SharedLimit
from memsift_workers.rankers.base import Scores, Warmable
from memsift_workers.rankers.cascade import Cascade
from memsift_workers.runtimes.base import RuntimeCrashed, RuntimeUnavailable
from tests.samples import job, memories
from tests.workers.drain.test_batch import Recorder

SECRET = "xyzzy-secret"
SECONDS = 30.0


class Warm:
    """A ranker that notes what it is asked for; `fault` is raised, a closed `gate` keeps warm-ups."""

    name, model = "local", "fake"

    def __init__(self, fault=None):
        self.fault, self.log, self.gate = fault, [], asyncio.Event()
        self.gate.set()

    async def rank(self, jobs, *, timeout):
        self.log.append("ranked")
        return [Scores(tuple(float(at) for at in range(len(one.candidates)))) for one in jobs]

    async def warm(self, jobs, *, timeout):
        self.log.append(("warm", [one.session for one in jobs], len(jobs[0].candidates)))
        if self.fault:
            raise self.fault
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.log.append("gave way")
            raise
        self.log.append("warmed")


class Cold:
    """A ranker that cannot be warmed."""

    name, model = "local", "fake"

    async def rank(self, jobs, *, timeout):
        return []


class Worker:
    """A batch handler and its warm-ups, as the drain has them."""

    def __init__(self, redis, queue, ranker, *, shared=None, runtime="", **settings):
        self.events = Recorder()
        told = {"redis": redis, "settings": WorkerSettings(queue=queue, **settings)}
        rankers, clock = {"local": ranker}, SystemClock()
        self.handler = BatchHandler(**told, rankers=rankers, clock=clock, events=self.events, shared=shared)
        self.warm_ups = WarmUps(**told, handler=self.handler, rankers=rankers, clock=clock, runtime=runtime)
        self.queue = queue

    @property
    def tally(self):
        return dict(self.handler.tally)

    async def ask(self):
        await self.handler.handle(Popped([self.question()], SystemClock().time()))

    def question(self):
        return raw(question(reply_to=f"{self.queue}:reply:t"), self.queue)


def question(**fields):
    now = SystemClock().time()
    return job(**{"deadline": now + SECONDS, "sent_at": now, **fields})


def warm_up(**fields):
    return question(**{"warm": True, "query": "", "prior": (), **fields})


def raw(whole, queue):
    return message.build(whole, wire.encode_job(whole), queue)


@pytest.fixture
def worker(redis, queue):
    return lambda ranker, **more: Worker(redis, queue, ranker, **more)


async def test_a_warm_up_is_done_told_of_and_not_answered(worker, redis, queue):
    ranker = Warm()
    one, whole = worker(ranker), warm_up(session="s7", reply_to=f"{queue}:reply:t")
    await one.warm_ups.handle(raw(whole, queue))
    assert ranker.log == [("warm", ["s7"], 6), "warmed"]
    assert one.events.of(whole.id) == ["task-received", "task-started", "task-succeeded"]
    assert one.events.events[0][1]["name"] == "memsift.warm"
    assert one.tally == {"warm_warmed": 1}
    assert [key async for key in redis.scan_iter(f"{queue}*")] == []


@pytest.mark.parametrize("list_of", ["", "r"])
async def test_both_lists_are_popped_one_at_a_time(worker, redis, queue, eventually, list_of):
    ranker = Warm()
    one = worker(ranker, runtime="r")
    ranker.gate.clear()
    await redis.lpush(warm_key(queue, list_of), *(raw(warm_up(session=f"s{at}"), queue) for at in range(3)))
    running = asyncio.create_task(one.warm_ups.run())
    await eventually(lambda: ranker.log)
    await asyncio.sleep(0.1)
    assert (len(ranker.log), await redis.llen(warm_key(queue, list_of))) == (1, 2)
    ranker.gate.set()
    await eventually(lambda: ranker.log.count("warmed") == 3)
    assert [sessions for _, sessions, _ in ranker.log[::2]] == [["s0"], ["s1"], ["s2"]]
    await end([running])


async def test_it_is_not_taken_while_a_batch_is_handled(worker, redis, queue, eventually):
    ranker = Warm()
    one = worker(ranker)
    one.handler._batches += 1
    running = asyncio.create_task(one.warm_ups.run())
    await redis.lpush(warm_key(queue), raw(warm_up(), queue))
    await asyncio.sleep(0.2)
    assert (ranker.log, await redis.llen(warm_key(queue))) == ([], 1)
    one.handler._batches -= 1
    await eventually(lambda: "warmed" in ranker.log)
    await end([running])


async def test_one_that_was_popped_as_a_batch_came_is_dropped(worker, queue):
    one, whole = worker(Warm()), warm_up()
    one.handler._batches += 1
    await one.warm_ups.handle(raw(whole, queue))
    assert one.tally == {"warm_dropped": 1}
    assert one.events.of(whole.id) == ["task-received", "task-revoked"]


async def meet(one, ranker, queue, eventually):
    """A batch comes while a warm-up is under way that would not end by itself."""
    ranker.gate.clear()
    warming = asyncio.create_task(one.warm_ups.handle(raw(warm_up(), queue)))
    await eventually(lambda: ranker.log)
    try:
        async with asyncio.timeout(1):
            await one.ask()
            await warming
    finally:
        await end([warming])


async def test_a_batch_is_never_behind_a_warm_up(worker, queue, eventually):
    ranker = Warm()
    one = worker(ranker)
    await meet(one, ranker, queue, eventually)
    assert "gave way" in ranker.log
    assert one.tally == {"warm_dropped": 1, "ranked": 1}


async def test_nor_where_the_warm_up_has_the_only_place_in_the_runtime(worker, redis, queue, eventually):
    ranker = Warm()
    limit = Limiter(1, batches=1)
    shared = SharedLimit(redis, f"{queue}:runtime:x", limit=lambda: limit.limit, clock=SystemClock())
    one = worker(ranker, shared=shared)
    await meet(one, ranker, queue, eventually)
    assert one.tally == {"warm_dropped": 1, "ranked": 1}
    assert await redis.zcard(f"{queue}:runtime:x") == 0


async def test_a_warm_up_that_does_not_give_way_is_found_out(worker, queue, eventually):
    ranker = Warm()
    one = worker(ranker)
    one.handler.on_work.clear()
    with pytest.raises(TimeoutError):
        await meet(one, ranker, queue, eventually)


async def test_without_a_place_in_a_shared_runtime_it_is_dropped_at_once(worker, redis, queue):
    ranker = Warm()
    shared = SharedLimit(redis, f"{queue}:runtime:x", limit=lambda: 1, clock=SystemClock())
    (lease,) = [lease async for lease in shared.enter(1, until=SystemClock().time() + 5)]
    one = worker(ranker, shared=shared)
    await one.warm_ups.handle(raw(warm_up(), queue))
    assert (ranker.log, one.tally) == ([], {"warm_dropped": 1})
    # It is not next either: a batch finds the place as soon as it is free.
    await redis.zrem(f"{queue}:runtime:x", lease.member)
    assert await shared.enter_at_once(hold_s=1.0) is not None


async def test_an_expired_one_is_dropped(worker, queue):
    ranker = Warm()
    one = worker(ranker)
    await one.warm_ups.handle(raw(warm_up(deadline=SystemClock().time() - 1), queue))
    assert (ranker.log, one.tally) == ([], {"warm_dropped": 1})


async def test_it_ends_by_its_deadline(worker, queue):
    ranker = Warm()
    ranker.gate.clear()
    one = worker(ranker)
    async with asyncio.timeout(5):
        await one.warm_ups.handle(raw(warm_up(deadline=SystemClock().time() + 0.2), queue))
    assert ranker.log[1:] == ["gave way"]
    assert one.tally == {"warm_dropped": 1}


async def test_a_ranker_that_cannot_be_warmed_refuses(worker, queue):
    one = worker(Cold())
    await one.warm_ups.handle(raw(warm_up(), queue))
    await one.warm_ups.handle(raw(warm_up(ranker="nobody's"), queue))
    assert one.tally == {"warm_refused": 2}


async def test_what_the_runtime_died_of_is_not_tried_again(worker, queue):
    ranker = Warm(RuntimeCrashed("gone"))
    one = worker(ranker)
    for _ in range(2):
        await one.warm_ups.handle(raw(warm_up(), queue))
    assert len(ranker.log) == 1
    assert one.tally == {"warm_failed": 1, "warm_dropped": 1}


async def test_nothing_of_the_memories_is_told(worker, queue, caplog):
    caplog.set_level(logging.DEBUG)
    whole = warm_up(candidates=tuple(one.model_copy(update={"text": SECRET}) for one in memories(2)))
    for fault in (None, ValueError(SECRET), RuntimeUnavailable("away")):
        one = worker(Warm(fault))
        await one.warm_ups.handle(raw(whole, queue))
        assert SECRET not in str(one.events.events)
    assert "warm-up" in caplog.text
    assert SECRET not in caplog.text


def lists_of(queue, item, task):
    try:
        return receive(item, queue=queue, now=SystemClock().time(), task=task).refused
    except Poison as poison:
        return poison.why


def test_each_kind_of_job_belongs_on_its_own_lists(queue):
    asked, warming = raw(question(), queue), raw(warm_up(), queue)
    disguised = warming.replace(message.WARM_TASK_NAME.encode(), message.TASK_NAME.encode())
    found = [
        [lists_of(queue, item, task) for task in (message.TASK_NAME, message.WARM_TASK_NAME)]
        for item in (asked, warming, disguised)
    ]
    assert found == [[None, "foreign_task"], ["foreign_task", None], [Cause.INVALID_JOB, "foreign_task"]]


async def test_poison_on_the_list_harms_nobody(worker, queue):
    one = worker(Warm())
    for item in (b"", b"[]", raw(question(), queue)):
        await one.warm_ups.handle(item)
    assert one.tally == {"poison_unreadable": 2, "poison_foreign_task": 1}


async def test_a_chain_warms_what_of_it_can_be_warmed(queue):
    first, second = Cold(), Warm()
    chain = Cascade(first, second, keep=3)
    assert isinstance(chain, Warmable)
    await chain.warm([warm_up()], timeout=1.0)
    assert second.log[-1] == "warmed"
