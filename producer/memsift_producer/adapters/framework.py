"""What an adapter's import says where its framework is not installed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def needs(extra: str) -> Iterator[None]:
    """Imports inside come from a framework.

    Args:
        extra: of memsift, which installs it.

    Raises:
        ImportError: it is not installed; names the remedy.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ImportError(
            f"the Python package {error.name} is missing: pip install 'memsift[{extra}]'", name=error.name
        ) from error
