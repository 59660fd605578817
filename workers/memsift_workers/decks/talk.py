"""Which turns of the conversation a prompt shows, so that from turn to turn lines are only appended."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

# A window that moved by one turn each time would change the first line of every prompt. This one grows from
# the fewer to the more and then starts again, so all lines but the last are cached in 7 turns of 8.
FEWEST = 8
MOST = 16
_DIGEST_BYTES = 8


def window(lines: Sequence[str], shown: Sequence[str]) -> tuple[int, int]:
    """Where the shown part of a conversation begins, and how many of its lines the last prompt showed.

    Args:
        lines: the conversation, oldest first; a frontend may have cut its beginning.
        shown: digests of the lines that the last prompt showed.
    """
    known = digests(lines)
    latest = max(len(lines) - FEWEST, 0)
    if not shown:
        return latest, 0
    for start in range(len(known) - len(shown), -1, -1):
        if known[start : start + len(shown)] == tuple(shown):
            return (start, len(shown)) if len(lines) - start <= MOST else (latest, 0)
    return latest, 0


def digests(lines: Sequence[str]) -> tuple[str, ...]:
    """What a deck remembers of lines: enough to know them again."""
    return tuple(blake2b(line.encode(), digest_size=_DIGEST_BYTES).hexdigest() for line in lines)
