"""How late an event loop runs its timers, measured by a timer of its own."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

EVERY_S = 0.005
_PER_MS = 1e3


class Ticker:
    """A timer that should fire every 5 ms, and a histogram of how late it did, in milliseconds."""

    def __init__(self) -> None:
        self._late_ms: Counter[int] = Counter()

    async def run(self) -> None:
        """Tick until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + EVERY_S
            await asyncio.sleep(EVERY_S)
            self._late_ms[round((loop.time() - due) * _PER_MS)] += 1

    def as_json(self) -> str:
        """`{"milliseconds late": ticks}`."""
        return json.dumps({str(late): ticks for late, ticks in sorted(self._late_ms.items())})
