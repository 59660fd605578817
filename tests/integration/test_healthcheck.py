"""Liveness is the drain's, readiness that of all it needs: each fault injected into a real worker."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

import pytest
from celery import Celery
from redis import Redis

from memsift_ops import valkey
from memsift_ops.commands.healthcheck import LIVE_S
from tests.integration import apps
from tests.integration.servers import answers, until
from tests.integration.test_worker import live_job, raw

pytestmark = pytest.mark.stack

# Tests do not wait as long as containers do.
WITHIN_S = 3
LIVE, NOT_READY, DEAD = 0, 1, 2


@pytest.fixture
def health(tmp_path, monkeypatch):
    """The command as a container runs it: exit code and what it told."""
    monkeypatch.setenv("MEMSIFT_RUN_DIR", str(tmp_path / "run"))

    def check(*arguments):
        command = [sys.executable, "-m", "memsift_ops", "healthcheck", f"--within={WITHIN_S}", "--json"]
        ended = subprocess.run(
            [*command, *arguments], capture_output=True, text=True, timeout=30, check=False
        )
        return ended.returncode, json.loads(ended.stdout)

    return check


def becomes(health, live, ready):
    """Wait for the exit codes of `--live` and `--ready`."""
    until(lambda: (health("--live")[0], health("--ready")[0]) == (live, ready))


def test_a_worker_that_drains_lives_and_is_ready_and_one_that_ended_is_not_there(
    servers, health, valkey_url, queue
):
    assert health("--live")[0] == DEAD
    worker = servers.worker(valkey_url, queue)
    becomes(health, LIVE, LIVE)
    code, told = health()
    assert (code, told["ready"], told["why"]) == (0, True, "")
    assert told["pid"] == worker.pid
    worker.terminate()
    worker.wait(hurry=lambda: False)
    code, told = health()
    assert (code, "there is no heartbeat" in told["why"]) == (DEAD, True)


def test_a_blocked_drain_is_dead_while_celerys_control_loop_answers(
    servers, health, valkey_url, queue, mailbox
):
    # Given a worker whose runtime blocks the drain's event loop
    servers.worker(valkey_url, queue, app="tests.integration.apps", shutdown_grace_s=0.1)
    becomes(health, LIVE, LIVE)
    with Redis.from_url(valkey_url) as redis:
        redis.lpush(queue, raw(live_job(mailbox(queue), query=f"{apps.BLOCKS}?"), queue))
    # When its heart has not beaten for as long as is allowed
    becomes(health, DEAD, DEAD)
    # Then Celery's ping answers all the same, and a command for the drain does so too, in words
    with Celery("somebody-elses", broker=valkey_url) as app:

        def ask(command):
            found = app.control.broadcast(command, reply=True, timeout=5)
            return [answer for reply in found for name, answer in reply.items() if name.startswith("access@")]

        assert {"ok": "pong"} in ask("ping")
        assert any("did not answer" in answer.get("error", "") for answer in ask("memsift_stats"))
        assert any("did not answer" in answer.get("error", "") for answer in ask("drain_pause"))
        assert any("error" in answer["memsift"] for answer in ask("stats"))
    code, told = health("--live")
    assert (code, "has not turned" in told["why"]) == (DEAD, True)
    # It cannot end in good order either
    os.killpg(servers.children[-1].pid, signal.SIGKILL)


def test_without_redis_a_worker_lives_and_is_not_ready(servers, health, queue):
    # Given a worker whose Redis hangs, and then goes away
    port = valkey.free_port()
    server = servers.valkey(port)
    until(lambda: answers(valkey.url(port)), child=server)
    servers.worker(valkey.url(port), queue, shutdown_grace_s=0.1)
    becomes(health, LIVE, LIVE)
    os.killpg(server.pid, signal.SIGSTOP)
    becomes(health, LIVE, NOT_READY)
    assert health("--ready")[1]["why"] == "it waits for: redis"
    # For longer than a dead drain would be given, it lives on: a restart would not help
    time.sleep(2 * WITHIN_S)
    assert health("--live")[0] == LIVE
    os.killpg(server.pid, signal.SIGCONT)
    becomes(health, LIVE, LIVE)
    os.killpg(server.pid, signal.SIGKILL)
    becomes(health, LIVE, NOT_READY)


def test_without_its_runtime_a_worker_lives_and_is_not_ready_though_no_job_comes(
    servers, health, valkey_url, queue, tmp_path
):
    # Given a worker that waits for a server that is not there yet
    port = valkey.free_port()
    url = f"http://127.0.0.1:{port}"
    servers.begin_worker(valkey_url, queue, runtime="sglang", sglang_url=url)
    becomes(health, LIVE, NOT_READY)
    assert "start" in health("--ready")[1]["why"]
    # When it comes
    fake = [sys.executable, "-m", "memsift_ops.chaos.runtime", str(port), str(tmp_path / "kept"), "{}"]
    runtime = servers.start("runtime", fake)
    becomes(health, LIVE, LIVE)
    # And begins to fail, with nobody asking anything
    request = urllib.request.Request(f"{url}/control", data=b'{"mode": "dead"}')
    with urllib.request.urlopen(request, timeout=5):
        pass
    becomes(health, LIVE, NOT_READY)
    assert health("--ready")[1]["why"] == "it waits for: runtime"
    # And is gone, and there again
    runtime.terminate()
    runtime.wait(hurry=lambda: False)
    assert health("--ready")[0] == NOT_READY
    servers.start("runtime", fake)
    becomes(health, LIVE, LIVE)


def test_a_killed_worker_is_dead_when_its_time_is_over(servers, health, valkey_url, queue):
    worker = servers.worker(valkey_url, queue)
    becomes(health, LIVE, LIVE)
    os.killpg(worker.pid, signal.SIGKILL)
    becomes(health, DEAD, DEAD)
    assert LIVE_S > WITHIN_S


def test_of_several_workers_one_must_be_named(servers, health, valkey_url, queue):
    for name in ("one", "two"):
        servers.begin_worker(valkey_url, queue, name=name)
    until(lambda: {health("--worker", name)[0] for name in ("one", "two")} == {LIVE})
    code, told = health()
    assert (code, "choose one with --worker" in told["why"]) == (DEAD, True)


def test_a_gateway_is_asked_by_http(servers, health, valkey_url, queue):
    port = valkey.free_port()
    assert health(f"--gateway=127.0.0.1:{port}")[0] == DEAD
    environment = {"MEMSIFT_REDIS_URL": valkey_url, "MEMSIFT_QUEUE": queue}
    servers.start(
        "gateway", [sys.executable, "-m", "memsift_ops", "gateway", f"--port={port}"], **environment
    )
    until(lambda: health(f"--gateway=127.0.0.1:{port}")[0] == LIVE)
