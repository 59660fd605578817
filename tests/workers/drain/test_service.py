"""The drain waits for a runtime that is away, and ends its worker when it can never take a job."""

import asyncio
import threading

import pytest
import sentry_sdk
from celery.platforms import EX_FAILURE
from celery.worker import state

from memsift_schemas.settings import WorkerSettings
from memsift_workers import health
from memsift_workers.drain.bootstep import _end_worker
from memsift_workers.drain.events import EventStream
from memsift_workers.drain.service import DrainService
from memsift_workers.runtimes.base import (
    RuntimeGarbage,
    RuntimeMisconfigured,
    RuntimeTimeout,
    RuntimeUnavailable,
)


class Sink:
    def send(self, kind, **fields):
        pass

    def flush(self, errors=True, groups=True):
        pass


class Moody:
    """Raises what it is told to, one by one, at each start."""

    name, model = "local", "moody"

    def __init__(self, *faults):
        self.faults = list(faults)
        self.closed = 0

    async def start(self):
        if self.faults:
            raise self.faults.pop(0)

    async def close(self):
        self.closed += 1


@pytest.fixture
def service(valkey_url, queue):
    ended = threading.Event()
    made = []

    def make(ranker):
        one = DrainService(
            settings=WorkerSettings(redis_url=valkey_url, queue=queue),
            rankers=[ranker],
            events=EventStream(Sink()),
            hostname="w@test",
            on_failure=ended.set,
        )
        made.append(one)
        one.start()
        return one, ended

    yield make
    for one in made:
        one.stop()


def present(redis, queue):
    return redis.exists(f"{queue}:worker:w@test")


@pytest.mark.parametrize("fault", [RuntimeUnavailable, RuntimeGarbage, RuntimeTimeout])
async def test_a_runtime_that_is_not_right_yet_is_waited_for(service, redis, queue, fault):
    ranker = Moody(fault("not yet"), fault("not yet"))
    one, ended = service(ranker)
    assert one.started.wait(5)
    async with asyncio.timeout(10):
        while not await present(redis, queue):
            await asyncio.sleep(0.02)
    assert ranker.faults == []
    assert not ended.is_set()
    one.stop()
    assert ranker.closed == 1
    assert not await present(redis, queue)


async def test_a_wait_for_the_runtime_is_told_of_and_then_the_heart_beats(
    service, queue, monkeypatch, eventually
):
    beats, messages = [], []
    monkeypatch.setattr(health, "LEAST_S", 0.0)
    monkeypatch.setattr(sentry_sdk, "capture_message", lambda text, level: messages.append(level))
    monkeypatch.setattr(sentry_sdk.metrics, "count", lambda *told, attributes: beats.append(attributes))
    service(Moody(*[RuntimeUnavailable("away")] * 3))
    await eventually(lambda: beats)
    assert messages == ["error", "info"]
    assert beats == [{"queue": queue, "ranker": "local"}]


def test_a_runtime_that_comes_back_wrong_ends_the_worker(service):
    ranker = Moody(RuntimeUnavailable("away"), RuntimeMisconfigured("another model"))
    one, ended = service(ranker)
    assert ended.wait(10)
    assert isinstance(one.failure, RuntimeMisconfigured)


def test_a_stop_while_the_runtime_is_away_ends_at_once(service):
    one, ended = service(Moody(*[RuntimeUnavailable("away")] * 100))
    assert one.started.wait(5)
    one.stop()
    assert not ended.is_set()
    assert one.failure is None


def test_a_failed_drain_tells_celery_to_end(monkeypatch):
    monkeypatch.setattr(state, "should_terminate", None)
    _end_worker()
    assert state.should_terminate == EX_FAILURE
