"""One system at work: its client, which does as told, and its worker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from memsift_ops.benchmarks.cpu_clock import cpu_s
from memsift_ops.child import Child
from memsift_ops.errors import Failure
from memsift_ops.peers import environments
from memsift_ops.peers.systems import HERE, System

# How long an answer of the client may take beyond what it was asked to do.
PATIENCE_S = 60.0
LOG_LINES = 8


class Client:
    """A system's driver in its own interpreter.

    Args:
        system: which.
        environment: see `variables`.
    """

    def __init__(self, system: System, environment: Mapping[str, str]) -> None:
        self._name = system.name
        package = "memsift_ops.peers.peer_side" if system.ours else "peer_side"
        self._process = subprocess.Popen(
            (str(_python(system)), "-m", f"{package}.driver", system.driven_by),
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._said: deque[str] = deque(maxlen=LOG_LINES)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def __enter__(self) -> Self:
        self._answer(PATIENCE_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Calls that nobody waits for any more may hold it up: nothing of it is to be kept.
        self._process.kill()
        self._process.wait()

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def do(self, order: Mapping[str, Any], *, seconds: float) -> dict[str, Any]:
        """Let it do something and wait for its word.

        Args:
            order: see `driver`.
            seconds: how long that should take.

        Raises:
            Failure: it ended, or is not done long after that.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
        except OSError:
            self._fail("ended")
        return self._answer(seconds + PATIENCE_S)

    def complaints(self) -> list[str]:
        """The last lines that it wrote beside its answers."""
        return list(self._said)

    def _answer(self, seconds: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        # A client that hangs ends by this, and its pipe with it.
        alarm = threading.Timer(seconds, self._process.kill)
        alarm.start()
        try:
            line = self._process.stdout.readline()
        finally:
            alarm.cancel()
        if not line:
            self._fail("ended, or did not answer in time")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _fail(self, what: str) -> None:
        self._process.wait()
        self._listener.join(1)
        raise Failure(f"the client of {self._name} {what}", log=self.complaints())

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._said.append(line.rstrip())


class Worker:
    """A system's worker."""

    def __init__(self, system: System, environment: Mapping[str, str]) -> None:
        command = (str(_python(system)), *system.worker)
        self._child = Child(
            f"{system.name} worker", command, environment={**environment, **system.environment}
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # What it holds is worth nothing: no grace.
        self._child.wait(hurry=lambda: True)

    @property
    def pid(self) -> int:
        """Its first process."""
        return self._child.pid

    def check(self) -> None:
        """Make sure that it still runs.

        Raises:
            Failure: it has ended; shows its last lines.
        """
        if self._child.returncode is not None:
            raise Failure(
                f"the {self._child.name} ended ({self._child.returncode})",
                log=self._child.last_lines(LOG_LINES),
            )

    def cpu_s(self) -> float:
        """Seconds of CPU of all its processes."""
        return cpu_s(self.pid)


def variables(
    url: str, job: Path, *, batch_ms: float, wait_ms: float, batch_max: int, batches: int
) -> dict[str, str]:
    """What client and worker of every system are told.

    Args:
        url: the Redis of this run.
        job: file with the job that is sent.
        batch_ms: what a batch of the fake runtime takes.
        wait_ms: how long a batch waits to fill up.
        batch_max: jobs in a batch.
        batches: at once.
    """
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("MEMSIFT_")},
        "PYTHONUNBUFFERED": "1",
        "BENCH_REDIS_URL": url,
        "RQ_REDIS_URL": url,
        "BENCH_JOB": str(job),
        "BENCH_BATCH_MS": f"{batch_ms:g}",
        "BENCH_BATCH_WAIT_MS": f"{wait_ms:g}",
        "BENCH_BATCH_MAX": str(batch_max),
        "BENCH_BATCHES": str(batches),
        "MEMSIFT_REDIS_URL": url,
        "MEMSIFT_RUNTIME": "scripted",
        "MEMSIFT_SCRIPTED_MS": f"{batch_ms:g}",
        "MEMSIFT_BATCH_WAIT_MS": f"{wait_ms:g}",
        "MEMSIFT_BATCH_MAX": str(batch_max),
        "MEMSIFT_BATCHES_IN_FLIGHT": str(batches),
        "MEMSIFT_RUNTIME_CONCURRENCY": str(batch_max * batches),
    }


def for_peer(environment: Mapping[str, str]) -> dict[str, str]:
    """The same without our own import path: a peer's interpreter finds `peer_side` and its own packages."""
    return {**environment, "PYTHONPATH": str(HERE)}


def _python(system: System) -> Path:
    if system.ours:
        return Path(sys.executable)
    return environments.python(system.name, system.packages)
