"""A temporary stack tells what it waits for."""

import sys

import pytest

from memsift_ops import services, stack
from memsift_ops.errors import Failure
from memsift_ops.local import temporary

# Given a worker whose model server is away: it says so again and again
WAITING = (
    sys.executable,
    "-c",
    "import time\n"
    "for _ in range(60):\n"
    "    print('WARNING no jobs are taken, the runtime cannot be used yet: ConnectError', flush=True)\n"
    "    time.sleep(0.1)\n",
)


def test_why_a_worker_takes_no_jobs_is_told_once(monkeypatch, capsys):
    monkeypatch.setattr(services, "worker_command", lambda *_: list(WAITING))
    monkeypatch.setattr(stack, "WORKER_READY_S", 1.0)
    with pytest.raises(Failure, match="worker was not ready"), temporary(model=False):
        pass
    told = " ".join(capsys.readouterr().err.split())
    assert (
        told.count("the worker waits: no jobs are taken, the runtime cannot be used yet: ConnectError") == 1
    )
