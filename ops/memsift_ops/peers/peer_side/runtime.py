"""The fake runtime behind every peer: a batch takes the same time whatever its size, a few batches at once.

memsift's worker brings its own micro-batches (`MEMSIFT_RUNTIME=scripted`). What peers have in their place is
here, as their users would write it: the same sizes, window and number of batches, no window while it is idle.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from concurrent.futures import Future
from typing import Any

from .setup import BATCH_MAX, BATCH_S, BATCH_WAIT_S, BATCHES, answered

Job = dict[str, Any]


class AsyncRuntime:
    """For tasks that are coroutines."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[tuple[Job, asyncio.Future[Job]]] = asyncio.Queue()
        self._takers: list[asyncio.Task[None]] = []
        self._under_way = 0

    async def rank(self, job: Job) -> Job:
        """Answer one job together with others."""
        if not BATCH_S:
            return answered(job)
        if not self._takers:
            self._takers = [asyncio.create_task(self._take()) for _ in range(BATCHES)]
        future: asyncio.Future[Job] = asyncio.get_running_loop().create_future()
        self._waiting.put_nowait((job, future))
        return await future

    async def _take(self) -> None:
        while True:
            batch = [await self._waiting.get()]
            self._fill(batch)
            if len(batch) < BATCH_MAX and self._under_way:
                await asyncio.sleep(BATCH_WAIT_S)
                self._fill(batch)
            self._under_way += 1
            await asyncio.sleep(BATCH_S)
            self._under_way -= 1
            for job, future in batch:
                if not future.done():
                    future.set_result(answered(job))

    def _fill(self, batch: list[tuple[Job, asyncio.Future[Job]]]) -> None:
        while len(batch) < BATCH_MAX and not self._waiting.empty():
            batch.append(self._waiting.get_nowait())


class ThreadedRuntime:
    """For tasks that are plain functions, each in a thread."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[tuple[Job, Future[Job]]] = queue.SimpleQueue()
        self._started = False
        self._lock = threading.Lock()
        self._under_way = 0

    def rank(self, job: Job) -> Job:
        """Answer one job together with others; blocks."""
        if not BATCH_S:
            return answered(job)
        with self._lock:
            if not self._started:
                self._started = True
                for _ in range(BATCHES):
                    threading.Thread(target=self._take, daemon=True).start()
        future: Future[Job] = Future()
        self._waiting.put((job, future))
        return future.result()

    def _take(self) -> None:
        while True:
            batch = [self._waiting.get()]
            self._fill(batch)
            if len(batch) < BATCH_MAX and self._under_way:
                time.sleep(BATCH_WAIT_S)
                self._fill(batch)
            with self._lock:
                self._under_way += 1
            time.sleep(BATCH_S)
            with self._lock:
                self._under_way -= 1
            for job, future in batch:
                future.set_result(answered(job))

    def _fill(self, batch: list[tuple[Job, Future[Job]]]) -> None:
        while len(batch) < BATCH_MAX:
            try:
                batch.append(self._waiting.get_nowait())
            except queue.Empty:
                return
