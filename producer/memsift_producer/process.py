"""One `SyncReranker` for all of a process, configured by `MEMSIFT_*`; adapters ask it by default."""

from __future__ import annotations

import atexit
import os
import threading

from memsift_producer.sync import SyncReranker


class _Own:
    """This process's."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: threads do not survive a fork, nor does a lock that another thread held."""
        self._lock = threading.Lock()
        self._reranker: SyncReranker | None = None

    def get(self) -> SyncReranker:
        with self._lock:
            if self._reranker is None:
                opened = SyncReranker()
                opened.open()
                self._reranker = opened
            return self._reranker

    def close(self) -> None:
        with self._lock:
            if self._reranker is not None:
                self._reranker.close()
                self._reranker = None


_own = _Own()
atexit.register(_own.close)
os.register_at_fork(after_in_child=_own.forget)


def own_reranker() -> SyncReranker:
    """This process's, opened by whoever asks first and closed when the process ends.

    Raises:
        SettingsError: a setting in the environment is wrong; names its variable.
    """
    return _own.get()
