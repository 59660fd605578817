"""`memsift control` against real workers: who is meant, what each answered, and no wait without an end."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from redis import Redis

from memsift_ops import services, valkey
from tests.integration.servers import answers, until

pytestmark = pytest.mark.stack


@pytest.fixture
def control(queue):
    """The command: exit code, what `--json` printed, and what it said besides."""

    def run(url, *arguments):
        environment = {**os.environ, "MEMSIFT_REDIS_URL": url, "MEMSIFT_QUEUE": queue}
        command = [sys.executable, "-m", "memsift_ops", "control", *arguments]
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        return (
            ended.returncode,
            json.loads(ended.stdout) if "--json" in arguments and ended.stdout else ended.stdout,
            ended.stderr,
        )

    return run


@pytest.fixture
def present(valkey_url, queue):
    """The cards by the workers' names before their @."""

    def read():
        with Redis.from_url(valkey_url) as redis:
            return {
                name.split("@")[0]: json.loads(card) for name, card in services.cards(redis, queue).items()
            }

    return read


def test_the_workers_that_are_meant_and_no_other_do_it(servers, control, present, valkey_url, queue):
    # Given two workers of the queue, and one of another queue on the same Redis
    for name in ("alpha", "beta"):
        servers.begin_worker(valkey_url, queue, name=name)
    servers.worker(valkey_url, f"{queue}:else", name="gamma")
    until(lambda: present().keys() == {"alpha", "beta"})
    # When one is paused, then it is alone
    code, told, _ = control(valkey_url, "pause", "--worker", "alpha", "--json")
    assert (code, told["done"], len(told["workers"])) == (0, True, 1)
    until(lambda: present()["alpha"]["paused"])
    assert not present()["beta"]["paused"]
    # When all are told, then all of this queue answer
    code, said, _ = control(valkey_url, "limits", "--batch-max=3", "--concurrency=5")
    assert (code, said.count("batch_max 3"), "gamma" in said) == (0, 2, False)
    # When a wrong limit is given, then each refuses, and nothing has changed
    code, told, _ = control(valkey_url, "limits", "--batch-max=0", "--json")
    assert (code, told["done"]) == (1, False)
    assert all("MEMSIFT_BATCH_MAX" in one["error"] for one in told["workers"].values())
    code, told, _ = control(valkey_url, "stats", "-w", "a*", "--json")
    ((_, one),) = told["workers"].items()
    assert (code, one["ok"]["state"], one["ok"]["limits"]["batch_max"]) == (0, "paused", 3)
    # When they are shut down, then it waits for them
    assert control(valkey_url, "resume")[0] == 0
    code, said, _ = control(valkey_url, "shutdown", "-w", "alpha")
    assert (code, "takes nothing more" in said) == (0, True)
    assert present().keys() == {"beta"}


def test_who_is_not_there_is_said_with_the_remedy(servers, control, valkey_url, queue):
    code, _, err = control(valkey_url, "pause")
    assert (code, "memsift worker" in err) == (1, True)
    servers.worker(valkey_url, queue)
    code, _, err = control(valkey_url, "pause", "-w", "nobody")
    assert (code, "present are: access@" in err) == (1, True)
    code, told, _ = control(valkey_url, "pause", "-w", "nobody@nowhere", "--timeout=0.5", "--json")
    assert (code, told) == (1, {"done": False, "workers": {"nobody@nowhere": None}})
    assert control(valkey_url, "limits", "--batch-max=many")[0] == 2


def test_a_restarted_worker_is_not_paused(servers, control, present, valkey_url, queue):
    worker = servers.worker(valkey_url, queue)
    assert control(valkey_url, "pause")[0] == 0
    until(lambda: present()["access"]["paused"])
    worker.terminate()
    worker.wait(hurry=lambda: False)
    servers.worker(valkey_url, queue)
    assert not present()["access"]["paused"]


def test_it_never_waits_for_ever(servers, control, queue):
    # Given a worker that is stopped, as by a debugger
    port = valkey.free_port()
    url = valkey.url(port)
    server = servers.valkey(port)
    until(lambda: answers(url), child=server)
    worker = servers.worker(url, queue)
    os.killpg(worker.pid, signal.SIGSTOP)
    began = time.monotonic()
    code, said, _ = control(url, "pause", "--timeout=1")
    assert (code, "no answer" in said) == (1, True)
    # When Redis hangs as well, then that is said
    os.killpg(server.pid, signal.SIGSTOP)
    code, _, err = control(url, "pause", "--timeout=1")
    assert (code, "Redis does not answer" in err) == (1, True)
    assert time.monotonic() - began < 30
    os.killpg(server.pid, signal.SIGCONT)
    os.killpg(worker.pid, signal.SIGKILL)
