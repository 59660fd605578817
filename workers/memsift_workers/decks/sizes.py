"""How many tokens a memory's line takes: as measured once the model has read it, estimated before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b

# A line's label, colon and line break.
LABEL_TOKENS = 4
# English has about 4.3 bytes a token and Chinese 3.9 in vocabularies that know it well (Qwen's); one that
# hardly does takes three times as many tokens, which the first answer tells.
BYTES_PER_TOKEN = 4
# 50,000 lines are 5 MB.
KEPT = 50_000


class Sizes:
    """Remembers what lines took, by their digests; the longest unused are forgotten."""

    def __init__(self) -> None:
        self._measured: OrderedDict[bytes, int] = OrderedDict()

    def __call__(self, line: str) -> int:
        """Tokens of a line with its label."""
        measured = self._measured.get(_digest(line))
        return estimate(line) if measured is None else measured

    def learn(self, lines: Sequence[str], tokens: Sequence[int]) -> None:
        """Take over what a runtime counted for each line."""
        for line, count in zip(lines, tokens, strict=False):
            key = _digest(line)
            self._measured[key] = count
            self._measured.move_to_end(key)
        while len(self._measured) > KEPT:
            self._measured.popitem(last=False)


def estimate(line: str) -> int:
    """About how many tokens a line takes with its label."""
    return len(line.encode()) // BYTES_PER_TOKEN + LABEL_TOKENS


def _digest(line: str) -> bytes:
    return blake2b(line.encode(), digest_size=8).digest()
