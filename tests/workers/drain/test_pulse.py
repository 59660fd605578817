"""The heartbeat stands for the drain's own loop, and tells what a worker waits for."""

import asyncio
import time

import pytest

from memsift_workers import liveness
from memsift_workers.drain import pulse as pulse_module
from memsift_workers.drain.pulse import REDIS_FRESH_S, Pulse, watch_runtime
from memsift_workers.health import Health
from memsift_workers.liveness import Stamps
from memsift_workers.runtimes.base import RuntimeUnavailable


class FakeDrain:
    is_turning = True
    paused = False

    def __init__(self):
        self.stopping = asyncio.Event()


@pytest.fixture
def made(tmp_path, clock):
    """A pulse, with what it looks at."""

    class Made:
        drain = FakeDrain()
        health = Health(clock)
        pulse = Pulse(Stamps("w@host", str(tmp_path)), "w@host", drain=drain, health=health, clock=clock)

        def stamp(self):
            self.pulse.beat()
            (stamp,) = liveness.read(str(tmp_path))
            return stamp

    return Made()


def ready(made):
    made.pulse.started()
    made.pulse.redis_answered()


def test_what_a_worker_waits_for(made, clock):
    assert made.stamp().waits_for == ("start", "redis")
    ready(made)
    assert (made.stamp().ready, made.stamp().waits_for) == (True, ())
    # Given a Redis that is away, then a runtime, and at last the end
    clock.advance(REDIS_FRESH_S + 1)
    assert made.stamp().waits_for == ("redis",)
    made.pulse.redis_answered()
    made.health.probed(reachable=False)
    assert made.stamp().waits_for == ("runtime",)
    made.drain.stopping.set()
    assert made.stamp().waits_for == ("runtime", "stop")


def test_a_paused_worker_stays_ready_or_its_supervisor_would_undo_the_pause(made):
    ready(made)
    made.drain.paused = True
    stamp = made.stamp()
    assert (stamp.ready, stamp.paused) == (True, True)


async def test_a_drain_that_does_not_turn_has_no_pulse(made, monkeypatch, eventually):
    monkeypatch.setattr(pulse_module, "BEAT_S", 0.01)
    made.drain.is_turning = True
    beating = asyncio.create_task(made.pulse.run())
    before = made.stamp().beat
    await eventually(lambda: made.stamp().beat > before)
    made.drain.is_turning = False
    stuck = made.stamp().beat
    await asyncio.sleep(0.05)
    assert made.stamp().beat == stuck
    beating.cancel()


async def test_a_loop_that_is_blocked_has_no_pulse(made, tmp_path, monkeypatch):
    monkeypatch.setattr(pulse_module, "BEAT_S", 0.01)
    beating = asyncio.create_task(made.pulse.run())
    await asyncio.sleep(0.03)
    time.sleep(0.3)  # noqa: ASYNC251  # the fault
    (stamp,) = liveness.read(str(tmp_path))
    assert stamp.age_s() >= 0.3
    beating.cancel()


def test_a_folder_that_cannot_be_written_is_told_of_once_with_the_remedy(clock, tmp_path, caplog):
    (tmp_path / "file").touch()
    stamps = Stamps("w@host", str(tmp_path / "file" / "below"))
    pulse = Pulse(stamps, "w@host", drain=FakeDrain(), health=Health(clock), clock=clock)
    for _ in range(3):
        pulse.beat()
    assert caplog.text.count("MEMSIFT_RUN_DIR") == 1
    pulse.end()


class Server:
    """A ranker with a server."""

    def __init__(self):
        self.fault = None
        self.asked = 0

    async def reach(self):
        self.asked += 1
        if self.fault == "hang":
            await asyncio.Event().wait()
        if self.fault is not None:
            raise self.fault


@pytest.mark.parametrize("fault", [RuntimeUnavailable("away"), "hang"])
async def test_a_silent_workers_runtime_is_asked_whether_it_is_there(clock, monkeypatch, eventually, fault):
    monkeypatch.setattr(pulse_module, "REACH_EVERY_S", 0.01)
    monkeypatch.setattr(pulse_module, "REACH_S", 0.05)
    server, health = Server(), Health(clock)
    watching = asyncio.create_task(watch_runtime([object(), server], health))
    await eventually(lambda: server.asked)
    assert health.is_ready
    server.fault = fault
    await eventually(lambda: not health.is_ready)
    server.fault = None
    await eventually(lambda: health.is_ready)
    watching.cancel()


async def test_without_servers_nobody_is_asked(clock):
    await asyncio.wait_for(watch_runtime([object()], Health(clock)), 1)
