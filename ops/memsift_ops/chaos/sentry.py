"""A fake Sentry: keeps every envelope that it is sent, unpacked, in one file.

    python -m memsift_ops.chaos.sentry PORT FILE

It accepts whatever comes.
"""

from __future__ import annotations

import asyncio
import gzip
import re
import sys
from pathlib import Path

from memsift_ops.chaos import http

_GZIPPED = re.compile(rb"content-encoding: *gzip", re.IGNORECASE)


def dsn(port: int) -> str:
    """Where a client sends to."""
    return f"http://chaos@127.0.0.1:{port}/1"


async def main(port: int, kept: Path) -> None:
    """Serve for ever."""

    async def keep(asked: http.Asked) -> tuple[int, bytes]:
        body = gzip.decompress(asked.body) if _GZIPPED.search(asked.head) else asked.body
        with kept.open("ab") as file:
            file.write(body + b"\n")
        return 200, b"{}"

    await http.serve(port, keep)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2])))
