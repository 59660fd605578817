"""Asking a server again while its faults pass, within one total budget."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from memsift_schemas.redis_link import Pause
from memsift_workers.runtimes.base import RuntimeUnavailable

ATTEMPTS = 4
"""Within a chat frontend's deadline there is rarely time for more; the budget usually ends it before."""
MOST_LEFT_ALONE_S = 60.0
"""A server that asks for more is tried once a minute all the same: its word may have been a mistake."""

T = TypeVar("T")


class Busy(RuntimeUnavailable):
    """The server cannot answer now and may soon (HTTP 429, 5xx, a lost connection).

    Attributes:
        after: the seconds that the server itself asks to wait; None when it does not say.
    """

    def __init__(self, message: str, *, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class Retrying:
    """The retries against one server, shared by all jobs that ask it.

    When the server names a wait (`retry-after`), no job asks before that: one that has no time for it falls
    back at once instead of making things worse.
    """

    def __init__(self, *, attempts: int = ATTEMPTS) -> None:
        self._attempts = attempts
        self._closed_until = -math.inf

    async def call(self, send: Callable[[], Awaitable[T]], *, ends_at: float) -> T:
        """Run `send`, again after each `Busy`.

        Args:
            send: one attempt; bounded by the caller's own timeout at `ends_at`.
            ends_at: loop time after which nobody waits.

        Raises:
            Busy: of the last attempt, or the server has asked to be left alone for longer than there is time.
            RuntimeFault: whatever else `send` raises, at once.
        """
        now = asyncio.get_running_loop().time
        pause = Pause()
        attempts = 0
        while True:
            if self._closed_until > now():
                busy = Busy("the server has asked to be left alone")
                await self._wait(self._closed_until - now(), ends_at, busy)
            attempts += 1
            try:
                return await send()
            except Busy as busy:
                if busy.after is not None:
                    closed_until = now() + min(busy.after, MOST_LEFT_ALONE_S)
                    self._closed_until = max(self._closed_until, closed_until)
                if attempts >= self._attempts:
                    raise
                await self._wait(max(busy.after or 0.0, pause.next()), ends_at, busy)

    @staticmethod
    async def _wait(seconds: float, ends_at: float, busy: Busy) -> None:
        if asyncio.get_running_loop().time() + seconds >= ends_at:
            raise busy
        await asyncio.sleep(seconds)


def stated_wait(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Seconds that a server asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date.

    Args:
        headers: of the answer; looked up in lower case.
        now: the time that a date is compared with; the system's when not given.

    Returns:
        Not below 0; None when nothing is stated that can be read.
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    try:
        at = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max((at - (now or datetime.now(UTC))).total_seconds(), 0.0)
