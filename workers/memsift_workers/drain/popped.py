"""What one pop took off the queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Popped:
    """One micro-batch as it left the queue.

    Attributes:
        items: raw list items.
        at: when, unix seconds on the deadline clock.
        crowded: as many as could be taken came, so others probably wait.
        fill: as which part of a full batch it counts.
        record: where Redis keeps a copy until the replies are sent; empty when it keeps none.
    """

    items: Sequence[bytes] = field(repr=False)
    at: float
    crowded: bool = False
    record: str = ""
    fill: float = 1.0
