"""Where lines are written: standard error, or a file that may be rotated away."""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import sys
import threading
from typing import Any, TextIO

from memsift_schemas.logs.storms import EVERY_S, Storms


class _Calm(logging.Handler):
    """Holds storms back; mixed into a handler that writes."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._storms = Storms()
        self._timer: threading.Timer | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write it, or count it and write the count later."""
        for count in self._storms.counts():
            super().emit(count)
        if self._storms.takes(record):
            super().emit(record)
        elif self._timer is None:
            self._timer = threading.Timer(EVERY_S, self._later)
            self._timer.daemon = True
            self._timer.start()

    def close(self) -> None:
        """Write what is still counted."""
        with self._locked():
            for count in self._storms.counts(final=True):
                super().emit(count)
        super().close()

    def _later(self) -> None:
        with self._locked():
            self._timer = None
            for count in self._storms.counts():
                super().emit(count)

    @contextlib.contextmanager
    def _locked(self) -> Any:
        self.acquire()
        try:
            yield
        finally:
            self.release()


class Stderr(_Calm, logging.StreamHandler[TextIO]):
    """Standard error as it is when a line is written: it may have been replaced since."""

    @property
    def stream(self) -> TextIO:
        """See `logging.StreamHandler`."""
        return sys.stderr

    @stream.setter
    def stream(self, _value: TextIO) -> None:
        pass


class File(_Calm, logging.handlers.WatchedFileHandler):
    """A file, opened anew when it was moved."""
