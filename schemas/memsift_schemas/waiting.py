"""What waits in a list, and for how long, read inside a script so that no job travels for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

# A worker writes its card and its place in the index every second; the card lives for five.
WORKER_LIVES_S = 5.0

# For scripts: `waiting(key)` returns what `read` reads. Inside a message's body quotes are escaped, so that
# no text can pass for the header.
LUA = """
local function waiting(key)
  local depth, expires, oldest = redis.call('LLEN', key), '', ''
  if depth > 0 then
    local tail = string.sub(redis.call('LINDEX', key, -1) or '', -2000)
    expires, oldest = string.match(tail, ',"expires":"([^"]+)","sent_at":([%d%.]+)')
  end
  return {depth, oldest or '', expires or ''}
end
"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits in one list.

    Attributes:
        depth: items in it.
        oldest_sent_at: unix seconds at which the oldest one was sent; None for an empty list, or when that
            item is no job of ours.
        oldest_expires_at: its deadline.
    """

    depth: int = 0
    oldest_sent_at: float | None = None
    oldest_expires_at: float | None = None

    def age_s(self, now: float) -> float:
        """How long the oldest one has waited, as far as is known; 0 for an empty list."""
        return max(now - self.oldest_sent_at, 0.0) if self.oldest_sent_at is not None else 0.0


def read(answer: Any) -> Waiting:
    """What the script's `waiting` returned."""
    depth, oldest, expires = answer
    expires_at = _unix(expires)
    return Waiting(int(depth), None if expires_at is None else float(oldest), expires_at)


def _unix(iso: bytes) -> float | None:
    try:
        return datetime.fromisoformat(iso.decode()).timestamp()
    except ValueError:  # also where it is no UTF-8
        return None
