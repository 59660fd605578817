"""The queue protocol as a state machine: whatever a worker does, each call ends once, in time, and rightly.

A real `Reranker` and a real Valkey; the worker is the machine, and time is the loop's, which stands still
until the machine moves it.
"""

import asyncio
import itertools
import random
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from redis import Redis

from memsift_producer import Reranker
from memsift_schemas import Cause, Ranked, Refusal, RerankResult, Source, message, wire
from memsift_schemas.keys import cancel_key
from tests.integration.faulty_rerankers import AnswersAnother, ForgetsWhoLeft, Late
from tests.integration.manual_loop import LoopClock, ManualLoop
from tests.samples import memory

NUMBERS = itertools.count()
PICK = st.integers(0, 99)
SEEN_S = 0.15
BAD = (
    *("refusal", "another call's", "missing", "twice", "nobody's", "lost"),
    *(b"no json", b"{}", b"[]", b'{"v": 99}', b'{"v": 1, "result": {}}'),
)


class Asked:
    """A call in flight or ended."""

    def __init__(self, ids, deadline, task):
        self.ids, self.deadline, self.task = ids, deadline, task
        self.job_id = ""
        self.first = None  # the first reply that a worker sent: ids, or None for one that ranks nothing


class QueueProtocol(RuleBasedStateMachine):
    """Rules are what callers, workers and time can do."""

    url = ""
    reranker_class = Reranker
    ends = Counter()  # noqa: RUF012  # of the whole run, set anew by `play`

    def __init__(self):
        super().__init__()
        self.loop = ManualLoop()
        self.redis = Redis.from_url(self.url)
        self.queue = f"test:protocol:{next(NUMBERS)}"
        # Time that jumps must not look like a socket that hangs.
        self.reranker = self.reranker_class.from_url(
            f"{self.url}?socket_timeout=1e9", queue=self.queue, breaker_failures=10_000, breaker_p99_ms=10**6
        )
        self.reranker._clock._local = LoopClock(self.loop)
        self.asked, self.held, self.sent = [], [], []
        self.loop.finish(self.reranker.open())

    def teardown(self):
        try:
            self.loop.advance(100)
            self.nothing_waits_past_its_deadline()
            self.every_ended_call_has_its_own_candidates()
            self.ends.update(_end_of(one.task) for one in self.asked)
        finally:
            self.loop.finish(self.reranker.close())
            self.loop.finish(
                asyncio.wait([one.task for one in self.asked]) if self.asked else asyncio.sleep(0)
            )
            self.loop.turn()
            self.loop.close()
            self.redis.close()

    # What callers do.

    @initialize(popped=st.integers(0, 4))
    def begin(self, popped):
        """Some runs of the machine never draw `enqueue`; each is to have calls."""
        self.enqueue(4, 3, 4.0, popped)

    @rule(
        calls=st.integers(1, 4),
        count=st.integers(1, 4),
        seconds=st.sampled_from((1.0, 4.0, 16.0)),
        popped=st.integers(0, 4),
    )
    def enqueue(self, calls, count, seconds, popped):
        """Some calls; a worker takes some jobs at once."""
        for _ in range(calls):
            self.ask(count, seconds)
        for _ in range(popped):
            self.pop()

    @rule(at=PICK)
    def leave(self, at):
        """A caller goes away. It is let go at once, and a worker can see that nobody waits for its job."""
        # A mark lives as long as its job, in real time: long enough to be seen here.
        waiting = [one for one in self.asked if not one.task.done() and one.deadline - self.loop.now > SEEN_S]
        if waiting:
            one = waiting[at % len(waiting)]
            one.task.cancel()
            assert self.loop.until(one.task.cancelled)
            assert self.loop.until(lambda: self.redis.exists(cancel_key(self.queue, one.job_id)))

    # What workers do. A rule for which there is nothing does nothing: what is drawn must not depend on how
    # far real sockets have got.

    @rule()
    def pop(self):
        if raw := self.next_item():
            job = wire.load_job(message.read(raw).job)
            ids = {memory.id for memory in job.candidates}
            (one,) = (one for one in self.asked if one.ids == ids)
            self.held.append((job, one))

    @rule(at=PICK, order=PICK, keep=st.booleans())
    def reply(self, at, order, keep):
        """A good reply; `keep` lets the worker come back with another one later."""
        for job, one in self.take(at, keep=keep):
            ids = [memory.id for memory in job.candidates]
            random.Random(order).shuffle(ids)
            self.send(job, one, _ranking(job.id, ids), tuple(ids))

    @rule(at=PICK, keep=st.booleans(), how=st.sampled_from(BAD))
    def bad_reply(self, at, keep, how):
        """One that the call may only fall back by, or not notice at all."""
        for job, one in self.take(at, keep=keep):
            ids = [memory.id for memory in job.candidates]
            others = [
                memory.id for other, _ in self.held if other.id != job.id for memory in other.candidates
            ]
            bad = {
                "refusal": Refusal(job_id=job.id, cause=Cause.RUNTIME_GARBAGE),
                "another call's": _ranking(job.id, others or ["c999.0"]),
                "missing": _ranking(job.id, ids[1:]),
                "twice": _ranking(job.id, [*ids, ids[0]]),
            }
            if how in bad:
                self.send(job, one, bad[how], None)
            elif how == "nobody's":
                self.push(job.reply_to, wire.encode_reply(_ranking("nobodys", ids)))
            elif how != "lost":
                self.push(job.reply_to, how)

    @rule(at=PICK)
    def duplicate_reply(self, at):
        if self.sent:
            self.push(*self.sent[at % len(self.sent)])

    @rule()
    def restart_worker(self):
        self.held.clear()

    # What time does.

    @rule(seconds=st.sampled_from((0.02, 0.2, 0.8)))
    def pass_time(self, seconds):
        self.loop.advance(seconds)

    @rule()
    def expire(self):
        waiting = [one.deadline for one in self.asked if not one.task.done()]
        if waiting:
            self.loop.advance(max(min(waiting) - self.loop.now, 0))

    # What holds at all times.

    @invariant()
    def nothing_waits_past_its_deadline(self):
        due = [one for one in self.asked if one.deadline <= self.loop.now]
        assert self.loop.until(lambda: all(one.task.done() for one in due))

    @invariant()
    def only_the_jobs_of_those_who_left_are_marked(self):
        marked = {one.job_id for one in self.asked if self.redis.exists(cancel_key(self.queue, one.job_id))}
        assert marked <= {one.job_id for one in self.asked if one.task.cancelled()}

    @invariant()
    def every_ended_call_has_its_own_candidates(self):
        for one in self.asked:
            if one.task.done() and not one.task.cancelled():
                found = one.task.result().result
                got = [place.id for place in found.ranking] + list(found.pruned)
                assert sorted(got) == sorted(one.ids)
                if found.source is Source.MODEL:
                    # The first reply counts, and no later one.
                    assert one.first == tuple(place.id for place in found.ranking)

    def ask(self, count, seconds):
        name = f"c{len(self.asked)}"
        texts = ("alpha key", "bravo train", "charlie nuts", "delta lamp")
        memories = [memory(at, id=f"{name}.{at}", text=f"{texts[at]} {name}") for at in range(count)]
        task = self.loop.create_task(
            self.reranker.rerank(
                query=f"Where is {name}?", memories=memories, deadline=seconds, session=f"chat {name}"
            )
        )
        before = self.depths()
        one = Asked({one.id for one in memories}, self.loop.now + seconds, task)
        self.asked.append(one)
        assert self.loop.until(lambda: task.done() or self.depths() != before)
        if not task.done():
            (grown,) = (key for key, depth in self.depths().items() if depth > before[key])
            one.job_id = message.read(self.redis.lindex(grown, 0)).id
            assert self.has_room(grown, before)

    def has_room(self, key, before):
        """Whether a job could be put there, with this before it."""
        return key == self.queue

    def depths(self):
        return {self.queue: self.redis.llen(self.queue)}

    def next_item(self):
        return self.redis.rpop(self.queue)

    def take(self, at, *, keep):
        """One of the jobs in the worker's hands, or none."""
        if not self.held:
            self.pop()
        if not self.held:
            return []
        at %= len(self.held)
        return [self.held[at] if keep else self.held.pop(at)]

    def send(self, job, one, reply, ranked):
        """Send a reply; if it is the first, in time, and good, the call must take it."""
        first = one.first is None and not one.task.done()
        if first:
            one.first = ranked or ()
        raw = wire.encode_reply(reply)
        self.sent.append((job.reply_to, raw))
        self.push(job.reply_to, raw)
        if first:
            assert self.loop.until(one.task.done)
            source = one.task.result().source
            assert source is (Source.MODEL if ranked else Source.PREFILTER)

    def push(self, reply_to, raw):
        self.redis.rpush(reply_to, raw)
        assert self.loop.until(lambda: not self.redis.exists(reply_to))
        self.loop.turn()


def _end_of(task):
    return "left" if task.cancelled() else str(task.result().cause or "model")


def _ranking(job_id, ids):
    ranking = tuple(Ranked(id=one, score=-float(at)) for at, one in enumerate(ids))
    return RerankResult(job_id=job_id, ranking=ranking, source=Source.MODEL)


def play(machine, url, reranker=Reranker, **changes):
    fields = {"url": url, "reranker_class": reranker, "ends": Counter()}
    machine = type(machine.__name__, (machine,), fields)
    told = {"max_examples": 150, "stateful_step_count": 25, "deadline": None, **changes}
    run_state_machine_as_test(machine, settings=settings(suppress_health_check=list(HealthCheck), **told))
    return machine.ends


def test_the_queue_protocol(valkey_url):
    ends = play(QueueProtocol, valkey_url)
    # The machine went where it is about.
    assert {"model", "deadline", "invalid_reply", "runtime_garbage", "left"} <= set(ends)


@pytest.mark.parametrize("faulty", [AnswersAnother, Late, ForgetsWhoLeft])
def test_a_faulty_reranker_is_found_out(valkey_url, faulty):
    with pytest.raises(AssertionError):
        play(
            *(QueueProtocol, valkey_url, faulty),
            phases=[Phase.generate],
            derandomize=True,
            database=None,
            report_multiple_bugs=False,
        )
