"""The decision log's files: rotated by time and size, readable by their owner alone, deleted when old."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from memsift_schemas.errors import SettingsError

PATTERN = "decisions-*.jsonl"
# A line lives for the days that are set and up to this longer, since a file goes as a whole.
ROTATE_S = 3_600.0
# At least so many files of this size fit into what may be kept.
_SHARE = 8
_MEGABYTE = 1_000_000
_VARIABLE = "MEMSIFT_DECISION_LOG"


class Files:
    """Appends lines to a file of this process's own in the folder.

    Args:
        folder: made with mode 0700 when it is missing.
        days: files that were last written to so long ago are deleted.
        megabytes: of all files in the folder together; the oldest go first.
        now: unix seconds, on this machine.

    Raises:
        SettingsError: the folder cannot be written into.
    """

    def __init__(self, folder: Path, *, days: float, megabytes: int, now: Callable[[], float]) -> None:
        self._folder = folder
        self._keep_s = days * 86_400
        self._most = megabytes * _MEGABYTE
        self._file_most = self._most // _SHARE
        self._now = now
        self._number: int | None = None
        self._path: Path | None = None
        self._opened = 0.0
        self._size = 0
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"{_VARIABLE}: cannot make the folder ({error.strerror})") from None
        except ValueError:  # a NUL in the path
            raise SettingsError(f"{_VARIABLE}: is no path") from None
        if not os.access(folder, os.W_OK | os.X_OK):
            raise SettingsError(f"{_VARIABLE}: the folder cannot be written into by this user")

    def append(self, line: bytes) -> None:
        """Write a line, into the next file where this one is full or old.

        Raises:
            OSError: it could not be written. A part may be there; the next line begins a new file.
        """
        if self._number is not None and (self._size + len(line) > self._file_most or self._is_old):
            self.close()
        if self._number is None:
            self._open()
        number = self._number
        assert number is not None
        try:
            written = os.write(number, line)
        except OSError:
            self.close()
            raise
        self._size += written
        if written < len(line):
            self.close()
            raise OSError("the disk took a part of a line")

    def tend(self) -> None:
        """Close a file that is old, and delete what may not be kept any longer."""
        if self._number is not None and self._is_old:
            self.close()
        self._prune(room=0)

    def close(self) -> None:
        """Close the open file, if there is one."""
        number, self._number, self._path = self._number, None, None
        if number is not None:
            with contextlib.suppress(OSError):
                os.close(number)

    @property
    def _is_old(self) -> bool:
        return self._now() - self._opened >= ROTATE_S

    def _open(self) -> None:
        self._prune(room=self._file_most)
        now = self._now()
        stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
        path = self._folder / f"decisions-{stamp}-{os.getpid()}-{secrets.token_hex(3)}.jsonl"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW
        self._number = os.open(path, flags, 0o600)
        self._path, self._opened, self._size = path, now, 0

    def _prune(self, *, room: int) -> None:
        """Delete what is too old; then the oldest, until there is this much room."""
        found = []
        for path in self._folder.glob(PATTERN):
            with contextlib.suppress(OSError):  # another process was faster
                about = path.stat()
                found.append((about.st_mtime, about.st_size, path))
        total = sum(size for _, size, _ in found)
        for changed, size, path in sorted(found):
            is_old = self._now() - changed > self._keep_s
            if path == self._path or not (is_old or total + room > self._most):
                continue
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size
