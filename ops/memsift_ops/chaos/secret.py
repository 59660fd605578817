"""The planted secret: a string in every question and memory, and how to find it where it must not be."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# A search of base64 needs whole groups of 3 bytes, at each of 3 offsets.
_GROUP = 3
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Secret:
    """Two strings, one of ASCII and one of Chinese, that stand nowhere but in questions and memories."""

    ascii: str
    chinese: str

    @property
    def planted(self) -> str:
        """What goes into each text."""
        return f"{self.ascii} {self.chinese}"

    def disguises(self) -> list[bytes]:
        r"""Each way in which it may stand in a file: plain, `\u` escapes, UTF-16, base64 at any offset."""
        found = []
        for text in (self.ascii, self.chinese):
            raw = text.encode()
            found += [raw, text.encode("utf-16-le"), text.encode("ascii", "backslashreplace")]
            for shift in range(_GROUP):
                # Only the characters of base64 that no neighbouring byte can change.
                whole = base64.b64encode(b"\0" * shift + raw)
                found.append(whole[4 if shift else 0 : (len(raw) + shift) // _GROUP * 4])
        return list(dict.fromkeys(found))


def plant(seed: int) -> Secret:
    """The secret of a run."""
    word = hashlib.sha256(f"memsift chaos {seed}".encode()).hexdigest()[:12]
    letters = "".join(chr(0x4E00 + int(word[at : at + 3], 16)) for at in range(0, 12, 3))
    return Secret(f"xq{word}qx", letters)


def leaks(files: Iterable[Path], secret: Secret) -> dict[str, int]:
    """How often a file holds the secret, for those that do.

    Args:
        files: logs, what Sentry was sent, what monitors saw.
        secret: what to look for.
    """
    wanted = secret.disguises()
    overlap = max(map(len, wanted)) - 1
    found: dict[str, int] = {}
    for path in files:
        with path.open("rb") as file:
            tail = b""
            while chunk := file.read(_CHUNK):
                data = tail + chunk
                hits = sum(data.count(one) for one in wanted)
                # What lies wholly in the tail was counted with the chunk before.
                hits -= sum(tail.count(one) for one in wanted)
                if hits:
                    found[path.name] = found.get(path.name, 0) + hits
                tail = data[-overlap:]
    return found
