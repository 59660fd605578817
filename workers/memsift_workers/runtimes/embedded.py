"""Runtime in the worker's own process: OpenVINO on the CPU.

Log-probabilities (`Likelihood`, `Labels`) come from `scoring`: a paged model with its own prefix cache.
`Json` comes from OpenVINO GenAI's continuous-batching pipeline, which knows grammars; it is loaded when it is
first needed.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memsift_workers.runtimes.base import (
    Answer,
    Call,
    RuntimeMisconfigured,
    RuntimeTimeout,
    RuntimeUnavailable,
)

if TYPE_CHECKING:
    from memsift_workers.runtimes.embedded_engine import Engine

T = TypeVar("T")


class Aborted(Exception):
    """Nobody waits for the answer any more."""


class EmbeddedRuntime:
    """Runs a small model on this machine's CPU, on one thread of its own beside the event loop.

    Batches are computed one after the other; one that times out or whose task is cancelled stops before the
    next forward pass (`scoring.STEP_TOKENS`). Log-probabilities do not depend on what else is in the batch or
    in the cache: the same call gives the same bits on a CPU with AVX-512, and nearly the same on others.

    `Answer.cached_tokens` counts the tokens whose KV was in the cache when the call's turn came. The last
    token of a prefix never counts: it is computed again, because it predicts the suffix's first token.

    Args:
        model_path: a GGUF file, or a folder with `openvino_model.xml` (see `models.store.resolve_model`).
        cache_mb: memory for the KV cache, in MiB; 1 MiB holds about 80 tokens of SmolLM2-135M.
        threads: CPU threads for the model; 0 takes one per core.
    """

    name = "embedded"

    def __init__(self, model_path: Path, *, cache_mb: int = 1024, threads: int = 0) -> None:
        self.model = model_path.stem if model_path.suffix == ".gguf" else model_path.name
        self._path = model_path
        self._cache_mb = cache_mb
        self._threads = threads
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedded")
        self._closing = threading.Event()
        self._engine: Engine | None = None

    async def start(self) -> None:
        """See `Runtime.start`. The first start with a GGUF converts it, which takes some seconds more."""
        self._engine = await self._submit(self._load)

    async def usable_labels(self, labels: Sequence[str]) -> tuple[str, ...]:
        """See `Runtime.usable_labels`."""
        return await self._submit(lambda: self._loaded().usable_labels(labels))

    async def run(self, calls: Sequence[Call], *, timeout: float) -> list[Answer]:
        """See `Runtime.run`."""
        if not calls:
            return []
        abort = threading.Event()

        def check() -> None:
            if abort.is_set() or self._closing.is_set():
                raise Aborted

        try:
            async with asyncio.timeout(timeout):
                return await self._submit(lambda: self._loaded().answer(calls, check))
        except TimeoutError:
            raise RuntimeTimeout(f"{len(calls)} prompts were not answered within {timeout:.3f} s") from None
        except Aborted:
            raise RuntimeUnavailable("the embedded runtime was closed") from None
        finally:
            abort.set()

    async def close(self) -> None:
        """See `Runtime.close`. Batches under way end as unavailable."""
        self._closing.set()
        await asyncio.to_thread(self._thread.shutdown)
        self._engine = None

    async def _submit(self, work: Callable[[], T]) -> T:
        try:
            running = asyncio.get_running_loop().run_in_executor(self._thread, work)
        except RuntimeError:
            raise RuntimeUnavailable("the embedded runtime is closed") from None
        return await running

    def _loaded(self) -> Engine:
        if self._engine is None:
            raise RuntimeUnavailable("the embedded runtime is not started")
        return self._engine

    def _load(self) -> Engine:
        try:
            from memsift_workers.runtimes.embedded_engine import Engine  # noqa: PLC0415 - 0.3 s, optional
        except ImportError as error:
            raise RuntimeMisconfigured(
                f"the embedded runtime needs {error.name}: pip install 'memsift[embedded]'"
            ) from None
        engine = Engine(self._path, cache_mb=self._cache_mb, threads=self._threads)
        engine.warm_up()
        return engine
