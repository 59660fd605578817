"""One child process: its own process group, its last lines of output, and an end within a time limit."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

# Called with the child's name and one line of its output, in a thread of its own.
LineSink = Callable[[str, str], None]

LINES_KEPT = 200
POLL_S = 0.05
# How long the output may stay open after the child ended (a grandchild holds it) before we stop reading.
DRAIN_S = 1.0

# Runs before the child's own program: on Linux the kernel then ends the child when we are killed with
# SIGKILL and can stop nothing any more (prctl(2), PR_SET_PDEATHSIG = 1). SIGKILL again: all children end at
# once, and a worker that stopped in good order would wait for a Valkey that is gone. An interpreter of its
# own (12 ms) because `preexec_fn` is unsafe beside threads.
_END_WITH_PARENT = """
import os, signal, sys
parent, argv = int(sys.argv[1]), sys.argv[2:]
if sys.platform == "linux":
    import ctypes
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)
try:
    os.execvp(argv[0], argv)
except OSError as error:
    sys.exit(f"cannot start {argv[0]}: {error.strerror}")
"""


class Child:
    """A running program.

    Args:
        name: shown to people.
        argv: the program and its arguments.
        environment: its whole environment.
        sink: is given each line of output, in a thread of its own; the last lines are kept in any case.
        patience_s: how long it may take to end after SIGTERM.
    """

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        sink: LineSink = lambda _name, _line: None,
        patience_s: float = 5.0,
    ) -> None:
        self.name = name
        self.patience_s = patience_s
        self._sink = sink
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        launcher = (sys.executable, "-I", "-S", "-c", _END_WITH_PARENT, str(os.getpid()))
        self._process = subprocess.Popen(
            (*launcher, *argv),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # the terminal's Ctrl-C is for us; we stop children in order
        )
        self._reader = threading.Thread(target=self._read, name=f"output of {name}", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The process id, which is also its process group."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """None while it runs; minus the signal's number when one ended it."""
        return self._process.poll()

    def last_lines(self, count: int) -> list[str]:
        """The end of its output."""
        if self.returncode is not None:
            self._reader.join(DRAIN_S)
        return list(self._lines)[-count:]

    def terminate(self) -> None:
        """Ask it to end, without waiting."""
        if self.returncode is None:
            self._signal(signal.SIGTERM)

    def wait(self, *, hurry: Callable[[], bool]) -> None:
        """Wait for the end that `terminate` asked for; kill it when its patience or ours is over.

        Args:
            hurry: asked again and again; True kills at once.
        """
        until = time.monotonic() + self.patience_s
        while self.returncode is None and time.monotonic() < until and not hurry():
            time.sleep(POLL_S)
        # Also what it may have started and left behind.
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._reader.join(DRAIN_S)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for raw in output:
                line = raw.decode("utf-8", "replace").rstrip()
                self._lines.append(line)
                # Where the output went is gone (`| head`): read on, or the child blocks on a full pipe.
                with contextlib.suppress(OSError):
                    self._sink(self.name, line)
