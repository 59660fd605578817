"""A stack starts in order, tells why it cannot, and leaves nothing behind."""

import contextlib
import socket
import sys

import pytest
import redis

from memsift_ops import services, stack, valkey
from memsift_ops.errors import Failure
from memsift_ops.stack import Stack
from tests.ops.processes import until

FAILING = (sys.executable, "-c", "print('the reason'); raise SystemExit(3)")
IDLE = (sys.executable, "-c", "import time; print('busy', flush=True); time.sleep(60)")


@pytest.fixture
def worker_runs(monkeypatch):
    """Run something else in the worker's place."""
    return lambda argv: monkeypatch.setattr(services, "worker_command", lambda *_: list(argv))


def test_valkey_is_on_loopback_keeps_nothing_and_goes_away():
    with Stack("q") as running:
        url = running.start_valkey()
        with redis.Redis.from_url(url, decode_responses=True) as client:
            assert client.config_get("save", "appendonly", "bind") == {
                "save": "",
                "appendonly": "no",
                "bind": "127.0.0.1",
            }
            assert services.server_answers(url)
    assert not services.server_answers(url)


def test_valkey_takes_the_wanted_port_if_it_is_free():
    port = valkey.free_port()
    with Stack("q") as running:
        assert running.start_valkey(port) == valkey.url(port)


def test_valkey_takes_another_port_when_the_wanted_one_is_taken():
    with socket.socket() as taken, Stack("q") as running:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert running.start_valkey(port) != valkey.url(port)


def test_a_worker_that_ends_is_told_with_its_last_lines(worker_runs):
    worker_runs(FAILING)
    with Stack("q") as running:
        running.start_valkey()
        with pytest.raises(Failure) as caught:
            running.start_worker()
    assert caught.value.format_message() == "worker ended with exit code 3\n  | the reason"
    assert caught.value.exit_code == 1


def test_a_worker_that_is_never_ready_is_told_too(worker_runs, monkeypatch):
    worker_runs(IDLE)
    monkeypatch.setattr(stack, "WORKER_READY_S", 0.5)
    with Stack("q") as running:
        running.start_valkey()
        with pytest.raises(Failure, match="worker was not ready after 0 s"):
            running.start_worker()


def test_a_worker_is_ready_when_it_says_so(worker_runs):
    # Given what a worker does: it announces itself under a key of its queue
    announce = (
        "import os, redis, time\n"
        "client = redis.Redis.from_url(os.environ['MEMSIFT_REDIS_URL'])\n"
        "key = os.environ['MEMSIFT_QUEUE'] + ':worker:w@h'\n"
        'client.set(key, \'{"runtime": "r", "model": "m", "strategy": "s", "ranker": "local", "pid": 1}\')\n'
        "time.sleep(60)"
    )
    worker_runs((sys.executable, "-c", announce))
    with Stack("q*") as running:
        url = running.start_valkey()
        info = running.start_worker()
        assert (info.runtime, info.model, info.strategy, info.ranker) == ("r", "m", "s", "local")
        # A queue's name is no pattern.
        assert services.ready_workers(url, "q*") == [info]
        assert services.ready_workers(url, "?*") == []


def test_when_one_process_dies_the_others_are_stopped(worker_runs):
    worker_runs(IDLE)
    with Stack("q") as running:
        url = running.start_valkey()
        child = running._start("worker", list(IDLE))
        running.check()
        child.wait(hurry=lambda: True)
        with pytest.raises(Failure, match="worker was ended by signal 9"):
            running.wait()
    assert not services.server_answers(url)


def test_all_are_stopped_when_the_block_is_left_by_ctrl_c():
    with contextlib.suppress(KeyboardInterrupt), Stack("q") as running:
        url = running.start_valkey()
        child = running._start("worker", list(IDLE))
        raise KeyboardInterrupt
    assert child.returncode is not None
    assert not services.server_answers(url)


def test_the_last_started_is_stopped_first(worker_runs):
    ended = []
    script = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('end'), sys.exit(0)))\n"
        "print('up', flush=True); time.sleep(60)"
    )
    running = Stack("q", sink=lambda name, line: ended.append(name) if line == "end" else None)
    for name in ("first", "second"):
        child = running._start(name, [sys.executable, "-u", "-c", script])
        assert until(lambda child=child: child.last_lines(1) == ["up"])
    running.stop()
    assert ended == ["second", "first"]


def test_an_unreadable_answer_of_a_server_is_no_worker(valkey_url, queue):
    with redis.Redis.from_url(valkey_url) as client:
        client.set(f"{queue}:worker:old", '{"model": 1}', ex=10)
    assert services.ready_workers(valkey_url, queue) == []


def test_nobody_there_is_no_worker():
    assert services.ready_workers(valkey.url(valkey.free_port()), "q") == []
    assert not services.flower_answers(valkey.free_port())
