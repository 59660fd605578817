"""A runtime around another one: what it does not change itself goes through."""

from __future__ import annotations

from collections.abc import Sequence

from memsift_workers.runtimes.base import Answer, Call, Reachable, Runtime


class Wrapper:
    """Subclass it and override what is different."""

    def __init__(self, inner: Runtime) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """The inner runtime's."""
        return self._inner.name

    @property
    def model(self) -> str:
        """The inner runtime's."""
        return self._inner.model

    async def start(self) -> None:
        """See `Runtime.start`."""
        await self._inner.start()

    async def reach(self) -> None:
        """See `Reachable`; one that cannot tell counts as there."""
        if isinstance(self._inner, Reachable):
            await self._inner.reach()

    async def usable_labels(self, labels: Sequence[str]) -> tuple[str, ...]:
        """See `Runtime.usable_labels`."""
        return await self._inner.usable_labels(labels)

    async def run(self, calls: Sequence[Call], *, timeout: float) -> list[Answer]:
        """See `Runtime.run`."""
        return await self._inner.run(calls, timeout=timeout)

    async def close(self) -> None:
        """See `Runtime.close`."""
        await self._inner.close()
