"""A batch in a runtime that workers share is ranked as its places come free, each part answered at once."""

import asyncio

import pytest

from memsift_schemas import SystemClock, wire
from memsift_schemas.settings import WorkerSettings
from memsift_workers.drain.batch import BatchHandler
from memsift_workers.drain.popped import Popped
from memsift_workers.flow.shared_limit import SharedLimit
from memsift_workers.rankers.base import Scores
from tests.workers.drain.test_batch import Recorder

PLACES = 4


class Slow:
    """A ranker whose batches are answered when they are told to be."""

    name, model, prompt_version = "local", "slow", ""

    def __init__(self):
        self.batches, self.gates = [], [asyncio.Event(), asyncio.Event()]

    async def rank(self, jobs, *, timeout):
        self.batches.append(len(jobs))
        await self.gates[len(self.batches) - 1].wait()
        return [Scores(tuple(float(at) for at in range(len(one.candidates)))) for one in jobs]


@pytest.fixture
def shared(redis, queue):
    return SharedLimit(redis, f"{queue}:runtime:x", limit=lambda: PLACES, clock=SystemClock())


@pytest.fixture
def handler(redis, queue, shared):
    return BatchHandler(
        redis=redis,
        settings=WorkerSettings(queue=queue),
        rankers={"local": Slow()},
        clock=SystemClock(),
        events=Recorder(),
        shared=shared,
    )


@pytest.fixture
def jobs(make):
    """As many as there are places; one place will be taken."""
    now = SystemClock().time()
    return [make(id=f"job-{at}", deadline=now + 20, sent_at=now) for at in range(PLACES)]


async def test_what_has_places_is_answered_before_the_rest_has_any(
    handler, shared, jobs, redis, queue, eventually
):
    ranker, answered = handler._rankers["local"], []
    handler.on_answered = lambda answers: answered.append([delivery.envelope.id for delivery, _ in answers])
    other = await anext(shared.enter(1, until=SystemClock().time() + 20))
    popped = Popped([raw for _, raw in jobs], SystemClock().time())
    batch = asyncio.create_task(handler.handle(popped))
    # Three of four begin while one place is taken, and are answered by themselves
    await eventually(lambda: ranker.batches == [PLACES - 1])
    ranker.gates[0].set()
    await eventually(lambda: answered == [[whole.id for whole, _ in jobs[:-1]]])
    assert await redis.llen(f"{queue}:reply:t") == PLACES - 1
    # Their places are free again, and the fourth has one of them
    await eventually(lambda: ranker.batches == [PLACES - 1, 1])
    assert not batch.done()
    ranker.gates[1].set()
    await asyncio.wait_for(batch, 5)
    replies = [wire.decode_reply(raw).job_id for raw in await redis.lrange(f"{queue}:reply:t", 0, -1)]
    assert sorted(replies) == [whole.id for whole, _ in jobs]
    # Nothing but the other's place is left in the runtime, and every item counts once
    assert await redis.zrange(f"{queue}:runtime:x", 0, -1) == [other.member.encode()]
    assert handler.tally == {"ranked": PLACES}
    assert handler.recent.as_dict()["rate"] * 10 == pytest.approx(PLACES)


async def test_with_places_for_all_it_is_one_batch(handler, jobs):
    ranker = handler._rankers["local"]
    ranker.gates[0].set()
    await handler.handle(Popped([raw for _, raw in jobs], SystemClock().time()))
    assert ranker.batches == [PLACES]
