"""What a batch leaves in the log and on the worker's card: ids, causes, counts and times."""

import pytest

from memsift_schemas.settings import WorkerSettings
from memsift_workers.drain.batch import BatchHandler
from memsift_workers.drain.events import EventStream
from memsift_workers.drain.popped import Popped
from memsift_workers.strategies.likelihood import Likelihood
from tests.fakes import FakeRuntime, local_ranker
from tests.samples import NOW


class Nobody:
    def send(self, kind, **fields):
        pass

    def flush(self, errors=True, groups=True):
        pass


@pytest.fixture
def handler(redis, queue, clock):
    clock.now = NOW.timestamp()
    ranker = local_ranker(FakeRuntime(), Likelihood(weight_en=1.0, weight_zh=1.0))
    return BatchHandler(
        redis=redis,
        settings=WorkerSettings(queue=queue),
        rankers={"local": ranker},
        clock=clock,
        events=EventStream(Nobody()),
    )


async def test_a_refusal_is_a_line_with_its_job_and_its_cause(handler, make, clock, caplog):
    # Given a late job, one for a ranker that nobody has, one that is none, and a good one
    late, late_raw = make(deadline=NOW.timestamp() - 1)
    unknown, unknown_raw = make(ranker="oracle")
    good, good_raw = make()
    caplog.set_level("DEBUG", "memsift.worker")
    # When a batch of them is handled
    await handler.handle(Popped([late_raw, unknown_raw, b"poison", good_raw], clock.time()))
    # Then each refusal has a line, the good one has none, and the whole has one for who looks closely
    told = {getattr(one, "job", None): one.cause for one in caplog.records if hasattr(one, "cause")}
    assert told == {late.id: "expired", unknown.id: "unknown_ranker", None: "poison_unreadable"}
    assert {one.levelname for one in caplog.records if hasattr(one, "cause")} == {"WARNING"}
    (batch,) = [one for one in caplog.records if one.levelname == "DEBUG"]
    assert (batch.jobs, batch.ranked, batch.causes) == (3, 1, {"expired": 1, "unknown_ranker": 1})
    assert (batch.prompt_tokens, batch.cached_tokens) == (60, 24)
    assert good.id not in caplog.text


async def test_a_batch_is_measured_from_sending_to_reply(handler, make, clock):
    _, raw = make(sent_at=NOW.timestamp() - 0.25)
    await handler.handle(Popped([raw], clock.time(), fill=0.125))
    told = handler.recent.as_dict()
    assert (told["fill"], told["latency_ms"]["p50"]) == (0.125, pytest.approx(250))
    # And nobody is said to be asked any more
    assert handler.asked == {}
