"""Valkey, a worker and Flower as child processes: started in order, watched, stopped in reverse order."""

from __future__ import annotations

import atexit
import os
import signal
import time
import types
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from memsift_ops import services, signals, valkey
from memsift_ops.child import Child, LineSink
from memsift_ops.errors import Failure
from memsift_ops.services import WorkerInfo

POLL_S = 0.05
LOG_LINES_SHOWN = 15

# How long each may take to be ready. Valkey takes 0.14 s and the worker 5-10 s with the default model;
# the limits are for a slow disk, a busy machine, or a model of many gigabytes.
VALKEY_READY_S = 15.0
WORKER_READY_S = 300.0
FLOWER_READY_S = 60.0
GATEWAY_READY_S = 30.0

# A worker finishes what is in flight; in a stack on this machine nobody waits for it that long.
WORKER_STOP_S = 10.0
GATEWAY_STOP_S = 5.0


class Stack:
    """The processes of one local stack. Leaving the `with` block stops them all, whatever happened.

    Args:
        queue: the Redis list that the worker serves; it shows there when it is ready.
        sink: is given each line that a child prints.
        redis_url: a server that runs already, for a stack without `start_valkey`.
    """

    def __init__(
        self, queue: str, *, sink: LineSink = lambda _name, _line: None, redis_url: str = ""
    ) -> None:
        self.queue = queue
        self.redis_url = redis_url
        self._sink = sink
        self._children: list[Child] = []
        # For an interruption so early in `__exit__` that `stop` was never reached.
        atexit.register(self.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start_valkey(self, port: int = 0) -> str:
        """Start the embedded Valkey and wait until it answers.

        Args:
            port: the one to take if it is free; 0 takes any.

        Returns:
            Its URL.

        Raises:
            Failure: it ended or was not ready in time.
        """
        port = valkey.free_port(port)
        self.redis_url = valkey.url(port)
        child = self._start("valkey", valkey.command(port))
        self._until(child, lambda: services.server_answers(self.redis_url), VALKEY_READY_S)
        return self.redis_url

    def start_worker(
        self,
        name: str = "memsift",
        loglevel: str = "INFO",
        *,
        metrics_port: int = 0,
        app: str = services.APP,
    ) -> WorkerInfo:
        """Start a worker on this stack's Valkey and wait until its model is loaded and warm.

        Args:
            name: the worker's.
            loglevel: DEBUG to CRITICAL.
            metrics_port: where it serves `/metrics`; 0 leaves that to the environment.
            app: the module that holds its Celery app.

        Returns:
            What the worker says of itself.

        Raises:
            Failure: it ended or was not ready in time.
        """
        command = services.worker_command(name, loglevel, app)
        told = {"MEMSIFT_METRICS_PORT": str(metrics_port)} if metrics_port else {}
        child = self._start("worker", command, patience_s=WORKER_STOP_S, told=told)
        found: list[WorkerInfo] = []

        def ready() -> bool:
            found.extend(services.ready_workers(self.redis_url, self.queue))
            return bool(found)

        self._until(child, ready, WORKER_READY_S)
        return found[0]

    def start_flower(self, port: int) -> str:
        """Start Flower and wait until it serves.

        Args:
            port: the one to take if it is free; 0 takes any.

        Returns:
            Its URL.

        Raises:
            Failure: it ended or was not ready in time.
        """
        port = valkey.free_port(port)
        child = self._start("flower", services.flower_command(port))
        self._until(child, lambda: services.flower_answers(port), FLOWER_READY_S)
        return f"http://127.0.0.1:{port}"

    def start_gateway(self, port: int = 0, *, metrics_port: int = 0) -> str:
        """Start an HTTP gateway on this stack's Valkey and queue and wait until it serves.

        Args:
            port: the one to take if it is free; 0 takes any.
            metrics_port: where it serves `/metrics`; 0 leaves that to the environment.

        Returns:
            Its URL.

        Raises:
            Failure: it ended or was not ready in time.
        """
        port = valkey.free_port(port)
        told = {"MEMSIFT_GATEWAY_METRICS_PORT": str(metrics_port)} if metrics_port else {}
        command = services.gateway_command(port)
        child = self._start("gateway", command, patience_s=GATEWAY_STOP_S, told=told)
        self._until(child, lambda: services.answers_http(port, "/health"), GATEWAY_READY_S)
        return f"http://127.0.0.1:{port}"

    def pid(self, name: str) -> int:
        """The process id of a child that was started, such as `gateway`.

        Raises:
            LookupError: there is none of that name.
        """
        pids = {child.name: child.pid for child in self._children}
        return pids[name]

    def check(self) -> None:
        """Make sure that every process still runs.

        Raises:
            Failure: one has ended; shows its exit code and last lines.
        """
        for child in self._children:
            if child.returncode is not None:
                raise Failure(f"{child.name} {_ending(child)}", log=child.last_lines(LOG_LINES_SHOWN))

    def wait(self) -> None:
        """Block until a process ends, which none should.

        Raises:
            Failure: see `check`.
        """
        while True:
            self.check()
            time.sleep(POLL_S)

    def stop(self) -> None:
        """Stop all, the last started first; a signal meanwhile kills what is left at once."""
        with signals.noted() as came:
            while self._children:
                child = self._children[-1]
                child.terminate()
                child.wait(hurry=lambda: came.came)
                self._children.pop()
        atexit.unregister(self.stop)

    def _start(
        self,
        name: str,
        command: list[str],
        *,
        patience_s: float = 5.0,
        told: Mapping[str, str] = types.MappingProxyType({}),
    ) -> Child:
        environment = {
            # People read what the children say, though it comes through a pipe.
            "MEMSIFT_LOG_FORMAT": "human",
            **os.environ,
            "MEMSIFT_REDIS_URL": self.redis_url,
            "MEMSIFT_QUEUE": self.queue,
            # Else a child's last lines sit in its buffer when it dies.
            "PYTHONUNBUFFERED": "1",
            **told,
        }
        # No signal between the start and the place where `stop` finds it.
        with signals.noted() as came:
            child = Child(name, command, environment=environment, sink=self._sink, patience_s=patience_s)
            self._children.append(child)
        if came.last is not None:
            signal.raise_signal(came.last)
        return child

    def _until(self, child: Child, ready: Callable[[], bool], limit_s: float) -> None:
        give_up_at = time.monotonic() + limit_s
        while not ready():
            self.check()
            if time.monotonic() > give_up_at:
                message = f"{child.name} was not ready after {limit_s:.0f} s"
                raise Failure(message, log=child.last_lines(LOG_LINES_SHOWN))
            time.sleep(POLL_S)


def _ending(child: Child) -> str:
    code = child.returncode or 0
    return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
