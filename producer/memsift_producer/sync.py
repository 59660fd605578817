"""The same for code without an event loop: a `Reranker` on a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from memsift_producer.chosen_settings import chosen
from memsift_producer.meter import Meter
from memsift_producer.reranker import Reranker
from memsift_producer.reranking import Reranking
from memsift_producer.told import FeedbackOutcome, OnBreaker

if TYPE_CHECKING:
    from memsift_schemas.settings import ProducerSettings

T = TypeVar("T")


class SyncReranker:
    """Blocking `rerank()` for threads; any number of threads may share one.

    Open it after a fork, not before: threads do not survive one (Gunicorn: in `post_fork`).

        with SyncReranker.from_url("redis://localhost") as reranker:
            texts = reranker.rerank(query="...", memories=memories).texts()
    """

    def __init__(
        self,
        settings: ProducerSettings | None = None,
        *,
        on_breaker: OnBreaker | None = None,
        metrics: Meter | None = None,
    ) -> None:
        """Opens nothing yet.

        Args:
            settings: None reads them from the environment.
            on_breaker: as of `Reranker`; called on this one's own thread.
            metrics: as of `Reranker`.
        """
        self._metrics = metrics
        self._on_breaker = on_breaker
        self._settings = settings or chosen()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="memsift", daemon=True)
        self._reranker: Reranker | None = None

    @classmethod
    def from_url(cls, url: str | None = None, **settings: Any) -> Self:
        """As `Reranker.from_url`."""
        return cls(chosen(redis_url=url, **settings))

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        """Start the thread and its connections."""
        self._thread.start()
        self._reranker = self._call(self._opened())

    def close(self) -> None:
        """As `Reranker.close`; then the thread ends. It cannot be opened again."""
        if self._reranker is not None:
            self._call(self._reranker.close())
            self._reranker = None
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()

    def rerank(self, **question: Any) -> Reranking:
        """As `Reranker.rerank`, with the same keyword arguments; blocks until its deadline at the latest.

        Raises:
            InvalidInput: an argument is wrong.
            RuntimeError: it is not open.
        """
        __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
        return self._call(self._open_one().rerank(**question))

    def forget(self, *, user: str, memories: Sequence[str]) -> None:
        """As `Reranker.forget`.

        Raises:
            InvalidInput: an id is none.
            NotForgotten: Redis could not be told: call again.
            RuntimeError: it is not open.
        """
        self._call(self._open_one().forget(user=user, memories=memories))

    def feedback(
        self, job_id: str, *, used: Sequence[str] = (), missed: Sequence[str] = (), user: str | None = None
    ) -> FeedbackOutcome:
        """As `Reranker.feedback`.

        Raises:
            InvalidInput: an id is none.
            RuntimeError: it is not open.
        """
        return self._call(self._open_one().feedback(job_id, used=used, missed=missed, user=user))

    def warm(self, **conversation: Any) -> bool:
        """As `Reranker.warm`, with the same keyword arguments.

        Raises:
            InvalidInput: an argument is wrong.
            RuntimeError: it is not open.
        """
        __tracebackhide__ = True
        return self._call(self._open_one().warm(**conversation))

    def call(self, work: Callable[[Reranker], Coroutine[Any, Any, T]]) -> T:
        """Run work with the `Reranker` behind this one, on its thread; blocks until it is done.

        Args:
            work: is given that `Reranker`; must not block.

        Raises:
            RuntimeError: it is not open.
            Exception: whatever the work raises.
        """
        __tracebackhide__ = True
        return self._call(work(self._open_one()))

    async def call_async(self, work: Callable[[Reranker], Coroutine[Any, Any, T]]) -> T:
        """As `call`, from any event loop, which goes on meanwhile; being cancelled cancels the work.

        Raises:
            RuntimeError: it is not open.
            Exception: whatever the work raises.
        """
        __tracebackhide__ = True
        running = asyncio.run_coroutine_threadsafe(work(self._open_one()), self._loop)
        return await asyncio.wrap_future(running)

    def _open_one(self) -> Reranker:
        if self._reranker is None:
            raise RuntimeError("SyncReranker is not open: use `with SyncReranker.from_url(...) as reranker`")
        return self._reranker

    async def _opened(self) -> Reranker:
        reranker = Reranker(self._settings, on_breaker=self._on_breaker, metrics=self._metrics)
        await reranker.open()
        return reranker

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            # Ctrl-C, or an exception that a worker's time limit throws into this thread: nobody waits now.
            future.cancel()
            raise
