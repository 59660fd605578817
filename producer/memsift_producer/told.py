"""What a frontend is told beside its rankings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class FeedbackOutcome(StrEnum):
    """What became of a feedback."""

    COUNTED = "counted"
    UNKNOWN = "unknown"  # no such call: too long ago, told of already, another user's, or never made
    UNAVAILABLE = "unavailable"  # Redis could not be asked: telling again may help
    OFF = "off"  # MEMSIFT_FEEDBACK_TTL_S is 0, so nothing is counted; a decision log still takes it


@dataclass(frozen=True, slots=True)
class BreakerChange:
    """The breaker opened or closed.

    Attributes:
        open: which of the two.
        reason: why it opened: `failures` or `slow`; `redis` when this process lost Redis.
        ours: this process flipped it; over all processes one says so, except for `redis`.
    """

    open: bool
    reason: str
    ours: bool


OnBreaker = Callable[[BreakerChange], None]
