"""A process that is started again whenever it ends, as systemd or Kubernetes would."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from memsift_ops.child import Child

# A supervisor that starts a process that dies at once must not become a busy loop.
RESTART_AFTER_S = 0.3


class Supervised:
    """One process of the harness; every line that it prints goes to `<folder>/<name>.log`.

    Args:
        name: also the log's.
        argv: asked at each start.
        environment: its whole environment.
        folder: of the log.
        patience_s: how long it may take to end after SIGTERM.
    """

    def __init__(
        self,
        name: str,
        argv: Callable[[], Sequence[str]],
        *,
        environment: Mapping[str, str],
        folder: Path,
        patience_s: float = 5.0,
    ) -> None:
        self.name = name
        self._argv = argv
        self._environment = environment
        self._log = (folder / f"{name}.log").open("a", encoding="utf-8", buffering=1)
        self._lock = threading.Lock()
        self._patience_s = patience_s
        self._killed = False
        self._ended_at: float | None = None
        self.starts = 0
        # Ends that nobody here caused: (exit code, last lines).
        self.own_ends: list[tuple[int, list[str]]] = []
        self.child = self._start()

    @property
    def pid(self) -> int:
        """The current process's id."""
        return self.child.pid

    @property
    def running(self) -> bool:
        """Whether it runs now."""
        return self.child.returncode is None

    def kill(self) -> None:
        """SIGKILL, to the process and what it started."""
        self._killed = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)

    def tend(self) -> None:
        """Start it again if it has ended."""
        if self.running:
            return
        if self._ended_at is None:
            self._ended_at = time.monotonic()
            if not self._killed:
                self.own_ends.append((self.child.returncode or 0, self.child.last_lines(10)))
        if time.monotonic() - self._ended_at >= RESTART_AFTER_S:
            self.child = self._start()

    def stop(self) -> None:
        """SIGTERM, then SIGKILL when its patience is over."""
        self.child.terminate()
        self.child.wait(hurry=lambda: False)
        self._log.close()

    def _start(self) -> Child:
        self._killed, self._ended_at = False, None
        self.starts += 1
        return Child(
            self.name,
            self._argv(),
            environment=self._environment,
            sink=self._keep,
            patience_s=self._patience_s,
        )

    def _keep(self, _name: str, line: str) -> None:
        with self._lock:
            if not self._log.closed:
                self._log.write(line + "\n")
