"""One micro-batch: late jobs cost no model time, each job gets its own answer, monitors are told."""

import asyncio

import orjson
import pytest

from memsift_schemas import Cause, Refusal, RerankResult, message, wire
from memsift_schemas.settings import WorkerSettings
from memsift_workers.drain.batch import BatchHandler
from memsift_workers.drain.popped import Popped
from memsift_workers.flow.service_times import FEWEST
from memsift_workers.rankers.base import Scores
from memsift_workers.rankers.local import LocalRanker
from memsift_workers.runtimes.base import RuntimeCrashed, RuntimeGarbage
from memsift_workers.strategies.likelihood import Likelihood
from tests.fakes import FakeRuntime, decks, local_ranker
from tests.samples import NOW, job


class Recorder:
    def __init__(self):
        self.events = []

    def send(self, kind, **fields):
        self.events.append((kind, fields))

    def of(self, uuid):
        return [kind for kind, fields in self.events if fields["uuid"] == uuid]


@pytest.fixture
def run(redis, queue, clock):
    """Handle raw items with a runtime; gives replies by job id, events and tally."""
    clock.now = NOW.timestamp()
    handlers = {}

    async def handle(items, runtime=None, ranker=None, reply_to=f"{queue}:reply:t", crowded=False):
        events = Recorder()
        ranker = ranker or local_ranker(runtime or FakeRuntime(), Likelihood(weight_en=1.0, weight_zh=1.0))
        handler = handlers.get(ranker) or BatchHandler(
            redis=redis,
            settings=WorkerSettings(queue=queue),
            rankers={"local": ranker},
            clock=clock,
            events=events,
        )
        handlers[ranker] = handler
        handler.reporter._events = events
        await handler.handle(Popped(items, clock.time(), crowded=crowded))
        replies = [wire.decode_reply(raw) for raw in await redis.lrange(reply_to, 0, -1)]
        return {reply.job_id: reply for reply in replies}, events, handler.tally

    return handle


async def test_a_job_is_ranked_replied_and_told(run, make, redis, queue):
    whole, raw = make()
    replies, events, tally = await run([raw])
    result = replies[whole.id]
    assert isinstance(result, RerankResult)
    assert sorted(place.id for place in result.ranking) == sorted(m.id for m in whole.candidates)
    assert set(result.timings_ms) == {"queue", "place", "rank"}
    assert (result.ranker, result.model, result.prompt_tokens) == ("local", "fake-model", 60)
    assert events.of(whole.id) == ["task-received", "task-started", "task-succeeded"]
    assert tally == {"ranked": 1}
    assert 0 < await redis.pttl(f"{queue}:reply:t") <= 5_000


async def test_an_expired_job_costs_no_model_time_and_gets_no_reply(run, make):
    late, raw = make(deadline=NOW.timestamp() - 1)
    runtime = FakeRuntime()
    replies, events, tally = await run([raw], runtime)
    assert (replies, runtime.batches) == ({}, [])
    # Received first, or Flower shows the task without a name.
    assert events.of(late.id) == ["task-received", "task-revoked"]
    assert tally == {"expired": 1}


async def test_bad_neighbours_harm_nobody(run, make):
    good, good_raw = make()
    unknown, unknown_raw = make(ranker="oracle")
    items = [b"\x00nonsense", good_raw, b"{}", unknown_raw, b"x" * 2_000_000]
    replies, events, tally = await run(items)
    assert isinstance(replies[good.id], RerankResult)
    assert replies[unknown.id] == Refusal(job_id=unknown.id, cause=Cause.UNKNOWN_RANKER)
    assert events.of(unknown.id)[-1] == "task-failed"
    assert tally == {"poison_unreadable": 2, "poison_too_big": 1, "ranked": 1, "unknown_ranker": 1}


@pytest.mark.parametrize("task_id", ["9" * 400, "", " a ", "\x00"])
async def test_a_job_with_an_id_that_no_reply_can_carry_harms_nobody(run, make, task_id):
    good, good_raw = make()
    _, bad_raw = make(query="what?")
    data = orjson.loads(bad_raw)
    data["headers"]["id"] = task_id
    data["body"] = '[[], {"job": 7}, {}]'
    replies, _, tally = await run([orjson.dumps(data), good_raw])
    assert isinstance(replies[good.id], RerankResult)
    assert tally == {"poison_unreadable": 1, "ranked": 1}


async def test_an_unreadable_job_is_refused_at_once(run, queue):
    whole = job(reply_to=f"{queue}:reply:t")
    data = {**wire.dump_job(whole), "v": 9}
    replies, _, tally = await run([message.build(whole, orjson.dumps(data), queue)])
    assert replies[whole.id].cause is Cause.UNKNOWN_VERSION
    assert tally == {"unknown_version": 1}


async def test_a_runtime_fault_becomes_a_refusal_with_its_cause(run, make):
    whole, raw = make()
    replies, _, tally = await run([raw], FakeRuntime(fault=RuntimeGarbage("odd")))
    assert replies[whole.id].cause is Cause.RUNTIME_GARBAGE
    assert tally == {"runtime_garbage": 1}


async def test_a_runtime_that_answers_nothing_is_told_of_once_and_that_it_is_back(run, make, clock, caplog):
    runtime = FakeRuntime(fault=RuntimeGarbage("odd"))
    ranker = local_ranker(runtime, Likelihood(weight_en=1.0, weight_zh=1.0))
    for _ in range(3):
        await run([make(deadline=NOW.timestamp() + 100)[1] for _ in range(5)], ranker=ranker)
        clock.advance(1)
    runtime.fault = None
    await run([make(deadline=NOW.timestamp() + 100)[1]], ranker=ranker)
    assert caplog.text.count("no job is answered by the model any more (runtime_garbage)") == 1
    assert caplog.text.count("jobs are answered by the model again, after 3 s") == 1


class Raising:
    name, model = "local", "none"

    async def rank(self, jobs, *, timeout):
        raise KeyError(jobs[0].query)


class Short(Raising):
    async def rank(self, jobs, *, timeout):
        return []


@pytest.mark.parametrize("ranker", [Raising(), Short()])
async def test_a_ranker_that_raises_or_forgets_answers_with_a_refusal_and_logs_no_text(
    run, make, ranker, caplog
):
    whole, raw = make(query="xyzzy?")
    replies, _, _ = await run([raw], ranker=ranker)
    assert replies[whole.id].cause is Cause.RANKER_ERROR
    assert "xyzzy" not in caplog.text
    assert "falls back" in caplog.text


async def test_an_answer_that_comes_too_late_is_dropped(run, make, clock):
    _, raw = make()

    class Slow(LocalRanker):
        async def rank(self, jobs, *, timeout):
            outcomes = await super().rank(jobs, timeout=timeout)
            clock.advance(60)
            return outcomes

    replies, _, tally = await run(
        [raw], ranker=Slow(FakeRuntime(), Likelihood(weight_en=1, weight_zh=1), decks())
    )
    assert (replies, tally) == ({}, {"late": 1})


async def test_jobs_of_a_session_go_side_by_side(run, make):
    runtime = FakeRuntime()
    raws = [make(session=session, user="u")[1] for session in ("b", "a", "b", "a")]
    seen = []

    class Watching(LocalRanker):
        async def rank(self, jobs, *, timeout):
            seen.extend(one.session for one in jobs)
            return await super().rank(jobs, timeout=timeout)

    await run(raws, ranker=Watching(runtime, Likelihood(weight_en=1, weight_zh=1), decks()))
    assert seen == ["a", "a", "b", "b"]


async def test_events_hold_no_text(run, make):
    _, raw = make(query="xyzzy private?")
    _, events, _ = await run([raw])
    assert "xyzzy" not in str(events.events)
    assert "Mara" not in str(events.events)


async def test_a_cancelled_job_costs_no_model_time_and_gets_no_reply(run, make, redis, queue):
    gone, gone_raw = make(sent_at=NOW.timestamp() - 1)
    waited_for, raw = make(sent_at=NOW.timestamp() - 1)
    await redis.set(f"{queue}:cancel:{gone.id}", 1, px=5_000)
    runtime = FakeRuntime()
    replies, events, tally = await run([gone_raw, raw], runtime)
    assert set(replies) == {waited_for.id}
    assert len(runtime.batches[0]) == len(waited_for.candidates)
    assert events.of(gone.id) == ["task-received", "task-revoked"]
    revoked = next(fields for kind, fields in events.events if kind == "task-revoked")
    assert (revoked["terminated"], revoked["expired"]) == (True, False)
    assert tally == {"cancelled": 1, "ranked": 1}


class Hanging(Raising):
    """Never answers; `marking` runs while it works."""

    def __init__(self, marking):
        self.marking, self.ended_by = marking, None

    async def rank(self, jobs, *, timeout):
        await self.marking(jobs)
        try:
            await asyncio.sleep(min(timeout, 5))
        except asyncio.CancelledError:
            self.ended_by = "cancellation"
            raise
        return [Scores(values=tuple(range(len(one.candidates)))) for one in jobs]


async def test_a_batch_that_nobody_waits_for_any_more_is_aborted(run, make, redis, queue):
    async def mark(jobs):
        for one in jobs:
            await redis.set(f"{queue}:cancel:{one.id}", 1, px=5_000)

    ranker = Hanging(mark)
    replies, _, tally = await run([make()[1], make()[1]], ranker=ranker)
    assert (replies, tally, ranker.ended_by) == ({}, {"cancelled": 2}, "cancellation")


async def test_a_batch_that_somebody_waits_for_goes_on(run, make, redis, queue):
    gone, waited_for = make(deadline=NOW.timestamp() + 0.5), make(deadline=NOW.timestamp() + 0.5)

    async def mark(jobs):
        await redis.set(f"{queue}:cancel:{gone[0].id}", 1, px=5_000)

    ranker = Hanging(mark)
    replies, _, tally = await run([gone[1], waited_for[1]], ranker=ranker)
    assert set(replies) == {waited_for[0].id}
    assert (tally, ranker.ended_by) == ({"cancelled": 1, "ranked": 1}, None)


async def test_a_job_that_would_end_past_its_deadline_is_refused_at_once(run, make, clock):
    class Slow(Raising):
        async def rank(self, jobs, *, timeout):
            clock.advance(2.0)
            return [Scores(values=tuple(range(len(one.candidates)))) for one in jobs]

    ranker = Slow()
    for _ in range(FEWEST):
        await run([make(deadline=clock.now + 10)[1]], ranker=ranker)
    hopeless, raw = make(deadline=clock.now + 1)
    replies, events, tally = await run([raw], ranker=ranker)
    assert replies[hopeless.id] == Refusal(job_id=hopeless.id, cause=Cause.TOO_LATE)
    assert events.of(hopeless.id) == ["task-received", "task-revoked"]
    assert tally["too_late"] == 1


async def test_mates_of_a_job_at_which_the_ranker_raises_are_ranked(run, make):
    class Touchy(Raising):
        async def rank(self, jobs, *, timeout):
            if any(one.query == "boom?" for one in jobs):
                raise KeyError("xyzzy")
            return [Scores(values=tuple(range(len(one.candidates)))) for one in jobs]

    mates, bad = [make() for _ in range(3)], make(query="boom?")
    replies, _, tally = await run([mates[0][1], bad[1], mates[1][1], mates[2][1]], ranker=Touchy())
    assert replies[bad[0].id].cause is Cause.RANKER_ERROR
    assert all(isinstance(replies[mate.id], RerankResult) for mate, _ in mates)
    assert tally == {"ranked": 3, "ranker_error": 1}


async def test_a_job_that_crashes_the_runtime_twice_is_quarantined_and_its_mates_served(run, make):
    class Dying(FakeRuntime):
        crashes = 0

        async def run(self, calls, *, timeout):
            if any("boom" in call.suffix for call in calls):
                Dying.crashes += 1
                raise RuntimeCrashed("broken")
            return await super().run(calls, timeout=timeout)

    ranker = local_ranker(Dying(), Likelihood(weight_en=1.0, weight_zh=1.0))
    causes, crashes = [], []
    for _ in range(3):
        bad, mate = make(query="boom?"), make()
        replies, _, _ = await run([bad[1], mate[1]], ranker=ranker)
        assert isinstance(replies[mate[0].id], RerankResult)
        causes.append(replies[bad[0].id].cause)
        crashes.append(Dying.crashes)
    assert causes == [Cause.RUNTIME_UNAVAILABLE, Cause.RUNTIME_UNAVAILABLE, Cause.QUARANTINED]
    assert crashes[2] == crashes[1]
