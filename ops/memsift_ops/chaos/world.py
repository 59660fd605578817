"""All processes of a chaos run but the callers: started, tended, sampled, stopped."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import redis

from memsift_ops import services, valkey
from memsift_ops.chaos import sentry
from memsift_ops.chaos.memory import Memory
from memsift_ops.chaos.supervised import Supervised
from memsift_ops.errors import Failure

READY_S = 60.0
TICK_S = 0.05
CONTROL_S = 2.0
PYTHON = (sys.executable, "-m")
# What the runtime does where a scenario says nothing else.
RUNTIME = {"prompt_ms": 10.0, "lanes": 16, "mode": "ok", "ahead_s": 0.0}
# As ops/redis.conf advises: full memory refuses a job, it never throws another one away.
VALKEY_EXTRA = ("--maxmemory", "512mb", "--maxmemory-policy", "noeviction", "--loglevel", "debug")


class World:
    """Valkey, a runtime, workers, the proxy between them, a fake Sentry and a recorder of Celery events.

    Args:
        folder: of logs and records.
        workers: how many.
        loglevel: the workers'.
    """

    def __init__(self, folder: Path, *, workers: int, loglevel: str = "DEBUG") -> None:
        self.folder = folder
        self.queue = "memsift.chaos"
        names = ("valkey", "runtime", "sentry", "control", "redis", "worker-redis", "model")
        self._ports = {name: valkey.free_port() for name in names}
        self.memory = Memory()
        self.told = dict(RUNTIME)
        self.on_tick: Callable[[], None] = lambda: None
        self._loglevel = loglevel
        self._processes: dict[str, Supervised] = {}
        # Processes of a scenario's own, by name, whose memory is sampled too.
        self.guests: dict[str, int] = {}
        self._worker_names = [f"worker{at}" for at in range(workers)]
        self.redis = redis.Redis(port=self._ports["valkey"], socket_timeout=5, socket_connect_timeout=1)

    @property
    def redis_url(self) -> str:
        """Valkey as callers reach it: through the proxy."""
        return valkey.url(self._ports["redis"])

    @property
    def direct_url(self) -> str:
        """Valkey without the proxy."""
        return valkey.url(self._ports["valkey"])

    @property
    def dsn(self) -> str:
        """The fake Sentry's."""
        return sentry.dsn(self._ports["sentry"])

    @property
    def worker_names(self) -> list[str]:
        """Names of the worker processes."""
        return self._worker_names

    @property
    def processes(self) -> Mapping[str, Supervised]:
        """All of them by name."""
        return self._processes

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Start everything and stop it in the end, last started first.

        Raises:
            Failure: something was not ready in time.
        """
        try:
            self._start_all()
            yield
        finally:
            for process in reversed(self._processes.values()):
                process.stop()

    @contextlib.contextmanager
    def also(
        self, name: str, argv: list[str], environment: Mapping[str, str] | None = None
    ) -> Iterator[None]:
        """One more process for the time of a block."""
        self._start(name, lambda: argv, environment)
        try:
            yield
        finally:
            self._processes.pop(name).stop()

    def wipe(self) -> None:
        """Forget all that Redis holds, such as an open breaker, but which workers are there."""
        kept = f"{self.queue}:worker".encode()
        if gone := [key for key in self.redis.scan_iter(count=1000) if not key.startswith(kept)]:
            self.redis.delete(*gone)

    def tend(self) -> None:
        """Start again what has ended, and sample the memory of all."""
        for process in self._processes.values():
            process.tend()
        own = {name: one.pid for name, one in self._processes.items() if one.running}
        self.memory.sample({**own, **self.guests})
        self.on_tick()

    def wait(self, done: Callable[[], bool], limit_s: float) -> bool:
        """Tend until something holds.

        Returns:
            Whether it came to hold within the limit.
        """
        give_up_at = time.monotonic() + limit_s
        while not done():
            if time.monotonic() > give_up_at:
                return False
            self.tend()
            time.sleep(TICK_S)
        return True

    def rest(self, seconds: float) -> None:
        """Tend for so long."""
        self.wait(lambda: False, seconds)

    def healthy(self, limit_s: float = READY_S) -> None:
        """Take every fault back and wait until all processes serve.

        Raises:
            Failure: they did not in time.
        """
        for route in ("redis", "worker-redis", "model"):
            self.network(route, "pass")
        self.wait(self._valkey_answers, limit_s)
        self.tell_runtime(**RUNTIME)
        if not self.wait(self._workers_ready, limit_s):
            raise Failure("the workers did not come back", log=self._last_lines())

    def network(self, route: str, mode: str, delay_ms: float = 0.0) -> None:
        """Change what the proxy does.

        Args:
            route: `redis` (callers to Valkey), `worker-redis` or `model` (workers to the runtime).
            mode: see `memsift_ops.chaos.proxy`.
            delay_ms: of every chunk, in either direction.
        """
        with socket.create_connection((valkey.LOOPBACK, self._ports["control"]), CONTROL_S) as control:
            told = {"route": route, "mode": mode, "delay_ms": delay_ms}
            control.sendall(json.dumps(told).encode() + b"\n")
            control.recv(8)

    def tell_runtime(self, **told: Any) -> None:
        """Change what the fake model does, also after a restart; see `memsift_ops.chaos.runtime`."""
        self.told.update(told)
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._ports['runtime']}/control", data=json.dumps(self.told).encode()
        )

        def heard() -> bool:
            try:
                with urllib.request.urlopen(request, timeout=CONTROL_S):
                    return True
            except (urllib.error.URLError, OSError):
                return False

        self.wait(heard, READY_S)

    def _valkey_answers(self) -> bool:
        return services.server_answers(self.direct_url)

    def _workers_ready(self) -> bool:
        ready = {one.pid for one in services.ready_workers(self.direct_url, self.queue)}
        return {self._processes[name].pid for name in self._worker_names} <= ready

    def _last_lines(self) -> list[str]:
        return [
            f"{name}: {line}"
            for name in self._worker_names
            for line in self._processes[name].child.last_lines(6)
        ]

    def _start_all(self) -> None:
        ports = {name: str(port) for name, port in self._ports.items()}
        chaos = "memsift_ops.chaos"
        self._start("valkey", lambda: [*valkey.command(self._ports["valkey"]), *VALKEY_EXTRA])
        kept = str(self.folder / "runtime.spent")
        self._start(
            "runtime", lambda: [*PYTHON, f"{chaos}.runtime", ports["runtime"], kept, json.dumps(self.told)]
        )
        self._start(
            "sentry", lambda: [*PYTHON, f"{chaos}.sentry", ports["sentry"], self._file("sentry.sent")]
        )
        routes = [
            f"redis:{ports['redis']}:{ports['valkey']}",
            f"worker-redis:{ports['worker-redis']}:{ports['valkey']}",
            f"model:{ports['model']}:{ports['runtime']}",
        ]
        self._start("proxy", lambda: [*PYTHON, f"{chaos}.proxy", ports["control"], *routes])
        if not self.wait(self._valkey_answers, READY_S):
            raise Failure("Valkey was not ready in time")
        url = self.direct_url
        self._start("events", lambda: [*PYTHON, f"{chaos}.events", url, self._file("events.seen")])
        for name in self._worker_names:
            self._start(name, lambda name=name: services.worker_command(name, self._loglevel))  # type: ignore[misc]
        if not self.wait(self._workers_ready, READY_S):
            raise Failure("the workers were not ready in time", log=self._last_lines())

    def _file(self, name: str) -> str:
        return str(self.folder / name)

    def _start(
        self, name: str, argv: Callable[[], list[str]], extra: Mapping[str, str] | None = None
    ) -> None:
        environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("MEMSIFT_")},
            "PYTHONUNBUFFERED": "1",
            "MEMSIFT_REDIS_URL": valkey.url(self._ports["worker-redis"]),
            "MEMSIFT_QUEUE": self.queue,
            "MEMSIFT_RUNTIME": "sglang",
            "MEMSIFT_SGLANG_URL": f"http://127.0.0.1:{self._ports['model']}",
            # One prompt per job, so that prompts are jobs.
            "MEMSIFT_STRATEGY": "scorecard",
            "MEMSIFT_CHAT_TEMPLATE": "plain",
            "MEMSIFT_SENTRY_DSN": self.dsn,
            **(extra or {}),
        }
        self._processes[name] = Supervised(
            name, argv, environment=environment, folder=self.folder, patience_s=10.0
        )
