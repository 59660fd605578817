"""Variables that are set for a while, for this process and the children that it starts meanwhile."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping


@contextlib.contextmanager
def variables(told: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables; what they were before comes back at the end."""
    before = {name: os.environ.get(name) for name in told}
    os.environ.update(told)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
