"""The reranker that all of a process share: opened once, closed at the end, anew after a fork."""

import concurrent.futures
import os
import subprocess
import sys

import pytest

from memsift_producer import process

FORKS = """
import os, sys
from memsift_producer.adapters.plain import rerank
from memsift_producer.process import own_reranker

def ask():
    (only,) = rerank("Where is the key?", ["The key is under the pot."])
    return only.cause

parent = own_reranker()
ask()
child = os.fork()
if child == 0:
    # Then the child opens one of its own, gets an answer, and ends as any program does
    assert own_reranker() is not parent
    ask()
    sys.exit(7)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7
ask()
print("done")
"""


@pytest.fixture
def own(monkeypatch, valkey_url, queue):
    monkeypatch.setenv("MEMSIFT_REDIS_URL", valkey_url)
    monkeypatch.setenv("MEMSIFT_QUEUE", queue)
    yield process.own_reranker
    process._own.close()


def test_whoever_asks_gets_the_same_one(own):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert len({id(one.result()) for one in [pool.submit(own) for _ in range(32)]}) == 1


def test_a_fork_gets_one_of_its_own_and_both_processes_end(valkey_url, queue):
    variables = {**os.environ, "MEMSIFT_REDIS_URL": valkey_url, "MEMSIFT_QUEUE": queue}
    variables["MEMSIFT_DEADLINE_MS"] = "100"
    ended = subprocess.run(
        [sys.executable, "-c", FORKS], env=variables, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr


def test_a_wrong_setting_is_said_each_time(monkeypatch):
    monkeypatch.setenv("MEMSIFT_DEADLINE_MS", "soon")
    for _ in range(2):
        with pytest.raises(ValueError, match="MEMSIFT_DEADLINE_MS"):
            process.own_reranker()
