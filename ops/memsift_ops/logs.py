"""The prefixed, coloured output of `memsift up`, as honcho prints it."""

from __future__ import annotations

import sys
import threading
from datetime import datetime

from honcho.colour import get_colours  # type: ignore[import-untyped]
from honcho.printer import Message, Printer  # type: ignore[import-untyped]

SYSTEM = "memsift"


class Logs:
    """Prints each line of each process behind the time and the process's name."""

    def __init__(self) -> None:
        self._printer = Printer(sys.stdout, width=len(SYSTEM))
        self._fresh_colours = get_colours()
        self._colours: dict[str, str | None] = {SYSTEM: None}
        # Every process is read in a thread of its own.
        self._lock = threading.Lock()

    def write(self, name: str, line: str) -> None:
        """Print one line of a process."""
        with self._lock:
            if name not in self._colours:
                self._colours[name] = next(self._fresh_colours)
            # A blank line is shown too; the printer would drop an empty one.
            message = Message("line", line or " ", datetime.now(), name, self._colours[name])
            self._printer.write(message)

    def say(self, line: str) -> None:
        """Print one line of our own."""
        self.write(SYSTEM, line)
