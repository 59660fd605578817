"""Writes the decision log on a thread of its own: whatever the disk does, no call waits for it."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

from memsift_producer.decisions.files import Files
from memsift_schemas.decision import Gap, encode
from memsift_schemas.redis_link import Pause

log = logging.getLogger("memsift.producer")

# What waits for a slow disk; each holds its call's memories, some 10 to 100 kB.
MOST_WAITING = 1_000
# How often files are looked after while nothing is written.
TEND_S = 60.0
# Closing waits this long for the disk.
CLOSE_S = 2.0

MakeLine = Callable[[], bytes]


class DecisionLog:
    """Lines are made and written on the thread; what it cannot keep up with is dropped and counted.

    Args:
        files: where they go.
        now: unix seconds, for the lines that tell of gaps.
        most: lines that may wait.

    Attributes:
        dropped: lines that were not written, since the start.
    """

    def __init__(self, files: Files, *, now: Callable[[], float], most: int = MOST_WAITING) -> None:
        self._files = files
        self._now = now
        self._waiting: queue.Queue[MakeLine | None] = queue.Queue(most)
        self._lock = threading.Lock()
        self.dropped = 0
        self._told = 0
        self._pause = Pause()
        self._away = False
        self._away_until = float("-inf")
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to write."""
        self._closing.clear()
        self._thread = threading.Thread(target=self._run, name="memsift-decisions", daemon=True)
        self._thread.start()

    def note(self, make_line: MakeLine) -> None:
        """Have a line written. Returns within microseconds, and waits for nothing.

        Args:
            make_line: makes it, on the log's thread.
        """
        try:
            self._waiting.put_nowait(make_line)
        except queue.Full:
            self._drop()

    def close(self) -> None:
        """Write what waits and end. Blocks for `CLOSE_S` at most; what is left then is dropped."""
        self._closing.set()
        with contextlib.suppress(queue.Full):  # then it is awake
            self._waiting.put_nowait(None)
        if self._thread is not None:
            self._thread.join(CLOSE_S)

    def _drop(self) -> None:
        with self._lock:
            self.dropped += 1

    def _run(self) -> None:
        tended_at = float("-inf")
        while True:
            if time.monotonic() - tended_at >= TEND_S:
                self._tend()
                tended_at = time.monotonic()
            try:
                make_line = self._waiting.get(timeout=0 if self._closing.is_set() else TEND_S)
            except queue.Empty:
                if self._closing.is_set():
                    break
                continue
            if make_line is not None:
                self._take(make_line)
        self._files.close()

    def _tend(self) -> None:
        try:
            self._files.tend()
        except OSError as error:
            log.warning("old decisions could not be deleted (%s)", error.strerror)

    def _take(self, make_line: MakeLine) -> None:
        if time.monotonic() < self._away_until:
            self._drop()
            return
        try:
            line = make_line()
        except Exception as error:  # noqa: BLE001  # its message may hold text, and the log must go on
            log.error("a decision cannot be written: %s", type(error).__name__)
            self._drop()
            return
        try:
            self._tell_gap()
            self._files.append(line)
        except OSError as error:
            self._lost(error)
        else:
            self._away = False
            self._pause.reset()

    def _tell_gap(self) -> None:
        """A line that says how many are missing before the next one."""
        dropped = self.dropped
        if dropped > self._told:
            gap = Gap(at=datetime.fromtimestamp(self._now(), UTC), dropped=dropped - self._told)
            self._files.append(encode(gap))
            log.warning("the decision log is written again; %d decisions were dropped", gap.dropped)
            self._told = dropped

    def _lost(self, error: OSError) -> None:
        self._drop()
        if not self._away:
            log.warning("decisions are dropped, the disk does not take them (%s)", error.strerror or error)
        self._away = True
        self._away_until = time.monotonic() + self._pause.next()
