"""The stamp that a worker's drain loop leaves every second, for `memsift healthcheck`.

A file of a few bytes in a runtime folder: it needs neither Redis nor HTTP nor Celery's control loop, so that
each of them may be broken without hiding, or causing, the death of the drain. Imports the standard library
alone: a container runs the check every few seconds.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

# Where the stamps are; see `WorkerSettings.run_dir`.
VARIABLE = "MEMSIFT_RUN_DIR"
SUFFIX = ".heartbeat"


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a worker leaves.

    Attributes:
        worker: its Celery name.
        pid: its process.
        beat: when its drain loop was last seen to turn, on this machine's monotonic clock, seconds.
        ready: whether it reaches Redis and its runtime, and the model is warm.
        waits_for: what is not so: `start`, `redis`, `runtime`, `stop`.
        paused: whether an operator has paused it.
    """

    worker: str
    pid: int
    beat: float
    ready: bool = False
    waits_for: tuple[str, ...] = ()
    paused: bool = False

    def age_s(self, now: float | None = None) -> float:
        """Seconds since the last beat; infinite for a stamp from before this machine's start."""
        age = (time.monotonic() if now is None else now) - self.beat
        return age if age >= 0 else float("inf")


def folder(given: str = "") -> Path:
    """Where stamps are: as given, else by the environment, else this user's own in the temporary folder."""
    return Path(given or os.environ.get(VARIABLE, "") or _own_temporary())


def _own_temporary() -> Path:
    return Path(tempfile.gettempdir()) / f"memsift-{os.geteuid()}"


class Stamps:
    """One worker's stamp, written again and again.

    Args:
        worker: its Celery name.
        given: the folder; see `folder`.
    """

    def __init__(self, worker: str, given: str = "") -> None:
        self._folder = folder(given)
        self._path = self._folder / f"{worker.replace('/', '_')}{SUFFIX}"

    def write(self, stamp: Stamp) -> None:
        """Replace the last one as a whole.

        Raises:
            OSError: it could not be written, or somebody else made our place in the temporary folder.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = self._folder.lstat()
        if self._folder == _own_temporary() and not (
            stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
        ):
            raise PermissionError(errno.EPERM, "belongs to somebody else", str(self._folder))
        new = self._path.with_suffix(f".{stamp.pid}")
        new.write_text(json.dumps(asdict(stamp)))
        new.replace(self._path)

    def remove(self) -> None:
        """The worker ends in good order."""
        with contextlib.suppress(OSError):
            self._path.unlink()


def read(given: str = "") -> list[Stamp]:
    """All stamps in the folder; those that cannot be read are left out."""
    found = []
    for path in sorted(folder(given).glob(f"*{SUFFIX}")):
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            told = json.loads(path.read_text())
            found.append(Stamp(**{**told, "waits_for": tuple(told["waits_for"])}))
    return found
