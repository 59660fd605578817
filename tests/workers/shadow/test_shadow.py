"""Copies are ranked when nothing else is to be done; whatever their ranker does, jobs know nothing of it."""

import asyncio
import contextlib
import logging

import pytest

from memsift_schemas import Cause, InvalidInput, RerankResult, SystemClock, wire
from memsift_schemas.keys import reply_key, shadow_key, shadow_tally_key
from memsift_schemas.redis_link import end
from memsift_schemas.sealing import KeyRing
from memsift_schemas.settings import WorkerSettings
from memsift_workers.drain.batch import BatchHandler
from memsift_workers.drain.popped import Popped
from memsift_workers.egress import EgressRefused
from memsift_workers.rankers.base import RankFault, Scores
from memsift_workers.runtimes.base import RuntimeUnavailable
from memsift_workers.shadow import copying, ranking, tally
from memsift_workers.shadow.copying import Copies, decode, encode
from memsift_workers.shadow.ranking import ShadowRanking
from tests.samples import job
from tests.workers.drain.test_batch import Recorder
from tests.workers.drain.test_warming import question, raw

SECRET = "xyzzy-private"
KEYS = "k1:" + "5a" * 32


class Live:
    """Ranks in the order given."""

    name, model, prompt_version = "local", "live-model", "likelihood-1"

    async def rank(self, jobs, *, timeout):
        return [Scores(tuple(-float(at) for at in range(len(one.candidates)))) for one in jobs]


class Shadow:
    """Ranks the other way round; a test makes it raise, wait, or stay deaf to being cancelled."""

    name, model, prompt_version = "jev", "jev", ""

    def __init__(self):
        self.fault, self.start_fault, self.jobs, self.log = None, None, [], []
        self.gate = asyncio.Event()
        self.gate.set()
        self.deaf = False

    async def start(self):
        if self.start_fault:
            raise self.start_fault

    async def rank(self, jobs, *, timeout):
        self.jobs += jobs
        if self.fault:
            raise self.fault
        while not self.gate.is_set():
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.log.append("told to stop")
                if not self.deaf:
                    raise
        return [Scores(tuple(float(at) for at in range(len(one.candidates)))) for one in jobs]


class Worker:
    """A batch handler that sends copies, and a shadow that ranks them."""

    def __init__(self, redis, queue, *, shared=None, **settings):
        self.redis, self.queue = redis, queue
        self.settings = WorkerSettings(**{"queue": queue, "shadow_share": 1.0, **settings})
        self.handler = BatchHandler(
            redis=redis,
            settings=self.settings,
            rankers={"local": Live()},
            clock=SystemClock(),
            events=Recorder(),
            shared=shared,
        )
        self.copies = Copies(redis, self.settings)
        self.handler.on_answered = self.copies.offer
        self.shadow = Shadow()
        self.ranking = ShadowRanking(
            redis, self.settings, handler=self.handler, ranker=self.shadow, clock=SystemClock()
        )
        self.reply_to = reply_key(queue, "t")

    async def ask(self, **fields):
        """One job through the worker; its reply."""
        whole = question(reply_to=self.reply_to, **fields)
        await self.handler.handle(Popped([raw(whole, self.queue)], SystemClock().time()))
        popped = await self.redis.blpop([self.reply_to], timeout=5)
        return wire.decode_reply(popped[1])

    async def copy(self):
        """The oldest copy that waits, when it has arrived."""
        popped = await self.redis.brpop([shadow_key(self.queue)], timeout=5)
        return popped[1]

    async def tally(self):
        return tally.read(await self.redis.hgetall(shadow_tally_key(self.queue)))


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(ranking, "FIRST_REST_S", 0.01)


@pytest.fixture
def worker(redis, queue):
    return lambda **more: Worker(redis, queue, **more)


@contextlib.asynccontextmanager
async def shadowing(one):
    task = asyncio.create_task(one.ranking.run())
    yield task
    one.shadow.deaf = False
    one.shadow.gate.set()
    await end([task])


async def until(condition, seconds=10):
    async with asyncio.timeout(seconds):
        while not (found := await condition()):
            await asyncio.sleep(0.01)
    return found


async def test_a_copy_is_ranked_and_compared_without_a_word_in_the_tally(worker, redis, queue):
    one = worker()
    async with shadowing(one):
        reply = await one.ask(query=f"{SECRET}?", user=f"{SECRET}-user", session="s9")

        async def compared():
            return (await one.tally()).pairs

        ((pair, found),) = (await until(compared)).items()
    assert isinstance(reply, RerankResult)
    assert (pair.live, pair.shadow) == (("local", "live-model", "likelihood-1"), ("jev", "jev", ""))
    assert (found.jobs, found.mean("tau"), found.mean("first")) == (1, -1.0, 0.0)
    assert found.percentile("shadow_ms", 0.5) > 0
    assert found.percentile("live_ms", 0.5) > 0
    assert (await one.tally()).counts == {"sent": 1}
    # The job came as of no session: no deck knows of it
    (asked,) = one.shadow.jobs
    assert (asked.user, asked.is_of_a_session, asked.reply_to) == (f"{SECRET}-user", False, None)
    assert SECRET.encode() not in b"".join(
        [field for pair in (await redis.hgetall(shadow_tally_key(queue))).items() for field in pair]
    )


async def test_a_share_is_taken_by_the_jobs_ids(redis, queue):
    taken = {}
    for share in (0.0, 0.1, 0.5, 1.0):
        copies = Copies(redis, WorkerSettings(queue=queue, shadow_share=share))
        taken[share] = {at for at in range(2_000) if copies._takes(f"job-{at}")}
    assert taken[0.0] < taken[0.1] < taken[0.5] < taken[1.0]
    assert 130 < len(taken[0.1]) < 270
    assert len(taken[1.0]) == 2_000


async def test_what_was_refused_is_not_copied(worker, redis, queue):
    one = worker()
    await one.ask(ranker="nobody")
    await asyncio.sleep(0.05)
    assert not await redis.exists(shadow_key(queue), shadow_tally_key(queue))


async def test_copies_are_bounded_and_go_by_themselves(worker, redis, queue, monkeypatch):
    monkeypatch.setattr(copying, "MOST_WAITING", 3)
    one = worker()
    for _ in range(5):
        await one.ask()

    async def sent():
        return (await one.tally()).counts.get("sent") == 5

    await until(sent)
    assert await redis.llen(shadow_key(queue)) == 3
    assert 0 < await redis.pttl(shadow_key(queue)) <= copying.WAIT_MS


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (ValueError(SECRET), "ranker_error"),
        (RuntimeUnavailable("away"), "ranker_error"),
        (asyncio.CancelledError(), None),
    ],
)
async def test_a_shadow_that_raises_harms_no_job(worker, fault, cause, caplog):
    one = worker()
    one.shadow.fault = fault
    async with shadowing(one):
        for _ in range(3):
            assert isinstance(await one.ask(), RerankResult)

        async def counted():
            found = await one.tally()
            return found.failed if cause else found.counts.get("gave_way")

        found = await until(counted)
    if cause:
        assert found.keys() == {cause}
    assert dict(one.handler.tally) == {"ranked": 3}
    assert one.handler.health.is_fit
    assert SECRET not in caplog.text


async def test_a_shadow_that_refuses_is_counted_by_cause(worker):
    one = worker()

    async def refuse(jobs, *, timeout):
        return [RankFault(Cause.RUNTIME_GARBAGE)] * len(jobs)

    one.shadow.rank = refuse
    async with shadowing(one):
        await one.ask()

        async def failed():
            return (await one.tally()).failed

        assert await until(failed) == {"runtime_garbage": 1}


async def test_a_batch_is_never_behind_a_copy(worker, eventually):
    # Given a copy under way that would take for ever
    one = worker()
    one.shadow.gate.clear()
    async with shadowing(one):
        await one.ask()
        await eventually(lambda: one.shadow.jobs)
        # When a job comes, then it is answered and the copy was given up
        assert isinstance(await one.ask(), RerankResult)
        await eventually(lambda: one.shadow.log)

        async def gave_way():
            return (await one.tally()).counts.get("gave_way")

        await until(gave_way)


async def test_a_shadow_that_hangs_and_stays_deaf_stops_copies_and_nothing_else(
    worker, eventually, monkeypatch, caplog
):
    monkeypatch.setattr(ranking, "RANK_S", 0.05)
    monkeypatch.setattr(ranking, "LONGEST_REST_S", 0.05)
    one = worker()
    one.shadow.gate.clear()
    one.shadow.deaf = True
    async with shadowing(one):
        for _ in range(5):
            assert isinstance(await one.ask(), RerankResult)
        await eventually(lambda: "does not stop" in caplog.text)
        assert isinstance(await one.ask(), RerankResult)
        assert len(one.shadow.jobs) == 1
        # When it ends after all, then it has failed, and copies are taken again
        one.shadow.gate.set()

        async def recovered():
            found = await one.tally()
            return found.failed.get("runtime_timeout") and found.pairs

        await until(recovered)


async def test_while_a_batch_is_handled_no_copy_is_taken(worker, redis, queue):
    one = worker()
    await one.ask()
    one.handler._batches += 1
    async with shadowing(one):
        await asyncio.sleep(0.2)
        assert (one.shadow.jobs, await redis.llen(shadow_key(queue))) == ([], 1)


async def test_a_slow_redis_holds_no_batch_up(worker, redis, monkeypatch):
    one = worker()
    slow = asyncio.Event()

    async def send(chosen):
        await slow.wait()

    monkeypatch.setattr(one.copies, "_send", send)
    for _ in range(copying.MOST_SENDING + 3):
        assert isinstance(await one.ask(), RerankResult)
    assert len(one.copies._sending) == copying.MOST_SENDING
    slow.set()


async def test_one_that_can_never_work_is_off_and_said_so(worker, caplog):
    one = worker()
    one.shadow.start_fault = EgressRefused("api.example.com is a public address: set MEMSIFT_ALLOW_EGRESS=1")
    with caplog.at_level(logging.ERROR):
        async with shadowing(one) as task:
            await asyncio.wait_for(asyncio.shield(task), 5)
            assert isinstance(await one.ask(), RerankResult)
    assert "shadow mode is off" in caplog.text
    assert "MEMSIFT_ALLOW_EGRESS" in caplog.text
    assert (await one.tally()).failed == {"misconfigured": 1}
    assert one.shadow.jobs == []


async def test_one_that_is_not_there_yet_is_waited_for(worker):
    one = worker()
    one.shadow.start_fault = RuntimeUnavailable("loading")
    async with shadowing(one):
        await one.ask()
        one.shadow.start_fault = None

        async def compared():
            return (await one.tally()).pairs

        assert await until(compared)


async def test_a_worker_that_is_tried_out_takes_the_copies_of_another_queue(redis, queue):
    live = Worker(redis, queue)
    tried = Worker(redis, f"{queue}.next", shadow_queue=queue, shadow_share=0.0)
    async with shadowing(tried):
        await live.ask()

        async def compared():
            return (await live.tally()).pairs

        assert await until(compared)
    assert len(tried.shadow.jobs) == 1


async def test_where_jobs_are_sealed_copies_are(worker, redis, queue):
    one = worker(seal_keys=KEYS)
    ring = KeyRing.of(KEYS)
    live = RerankResult(job_id="j", ranking=({"id": "m0", "score": 1.0},), source="model", reason=SECRET)
    copy = copying.Copy(job(1, id="j", query=SECRET), live)
    sealed = encode(copy, ring)
    assert SECRET.encode() not in sealed
    assert decode(sealed, ring).live == live
    for wrong in (None, KeyRing.of("k2:" + "6b" * 32)):
        with pytest.raises(InvalidInput):
            decode(sealed, wrong)
    with pytest.raises(InvalidInput):
        decode(encode(copy, None), ring)
    # One that was put there clear, or is none at all, is dropped and counted
    for item in (encode(copy, None), b"noise", b"{}", b"[]"):
        await one.ranking.handle(item)
    assert (await one.tally()).counts == {"unreadable": 4}
